// SPDX-License-Identifier: GPL-2.0-only

#include "codec/private_data.hh"

namespace peer {

namespace {

// RFC 8797, section 4: the format identifier, and the only version there is.
constexpr std::uint32_t FORMAT_IDENTIFIER = 0xf6ab0e18;
constexpr std::uint8_t FORMAT_VERSION = 1;
constexpr std::uint8_t R_FLAG = 0x01;
constexpr std::size_t SIZE = 8;
constexpr std::uint32_t UNIT = 1024;

} // namespace

Bytes encode(const PrivateData &data)
{
	XdrWriter xdr;
	xdr.u32(FORMAT_IDENTIFIER);
	Bytes bytes = xdr.take();
	bytes.push_back(FORMAT_VERSION);
	bytes.push_back(data.remote_invalidation ? R_FLAG : 0);
	bytes.push_back(static_cast<std::uint8_t>(data.send_size / UNIT - 1));
	bytes.push_back(static_cast<std::uint8_t>(data.receive_size / UNIT - 1));
	return bytes;
}

std::optional<PrivateData> find_private_data(ByteView received)
{
	for (std::size_t at = 0; at + SIZE <= received.size(); at++) {
		const ByteView message = received.subspan(at, SIZE);
		if (XdrReader(message).u32("format identifier") != FORMAT_IDENTIFIER || message[4] != FORMAT_VERSION)
			continue;
		return PrivateData{.send_size = (message[6] + 1U) * UNIT,
				   .receive_size = (message[7] + 1U) * UNIT,
				   .remote_invalidation = (message[5] & R_FLAG) != 0,
				   .reserved = static_cast<std::uint8_t>(message[5] & ~R_FLAG)};
	}
	return std::nullopt;
}

} // namespace peer
