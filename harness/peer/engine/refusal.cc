// SPDX-License-Identifier: GPL-2.0-only
//
// What the responder answers with an error.

#include "engine/responder.hh"

namespace peer {

namespace {

// What is shorter is discarded (RFC 8166, 4.5).
constexpr std::size_t SHORTEST_HEADER = 28;
constexpr std::size_t FIXED_FIELDS = 16;

// The fields that have the same places in every version (rfc5666bis-04, 5.2).
Header fixed_fields(ByteView message)
{
	XdrReader xdr(message);
	Header header;
	header.xid = xdr.u32("rdma_xid");
	header.version = xdr.u32("rdma_vers");
	header.credits = xdr.u32("rdma_credit");
	header.type = xdr.u32("rdma_proc");
	return header;
}

// Whether a header of version 2 says of itself that it answers something, whatever follows in it.
bool says_reply(const Header &header, ByteView message)
{
	const bool has_direction = header.type == RDMA_MSG || header.type == RDMA_NOMSG ||
				   header.type == RDMA2_OPTIONAL;
	return has_direction && XdrReader(message.subspan(FIXED_FIELDS)).u32("rdma_direction") == DIRECTION_REPLY;
}

// Whether it can be seen to answer a Call in the reverse direction.
bool is_reply_message(ByteView message)
{
	try {
		const Decoded decoded = decode(message);
		return decoded.header.type == RDMA_MSG && is_call(decoded.payload) == false;
	} catch (const Malformed &) {
		return false;
	}
}

} // namespace

bool Responder::speaks(std::uint32_t version) const noexcept
{
	return (version == VERSION_1 || version == VERSION_2) && versions.contain(version);
}

// RFC 8166, 4.5. An error is not answered with another, nor is a Reply: who has sent what it answers judges its version.
bool Responder::refuse_version(std::uint64_t number, const Message &message)
{
	if (message.bytes.size() < SHORTEST_HEADER)
		return false;
	const Header header = fixed_fields(message.bytes);
	if (speaks(header.version) || header.type == RDMA_ERROR || is_reply_message(message.bytes))
		return false;
	if (!take_version || !take_version(number, message))
		refuse(number, header, ERR_VERS);
	return true;
}

// In version 1 whoever drives the responder has the word. A Reply is not answered: the error would be taken for the answer to
// another Call (RFC 8166, 4.5).
bool Responder::refuse_malformed(std::uint64_t number, const Message &message)
{
	if (message.bytes.size() < SHORTEST_HEADER)
		return false;
	const Header header = fixed_fields(message.bytes);
	if (header.version != VERSION_2 || header.type == RDMA_ERROR || says_reply(header, message.bytes))
		return false;
	refuse(number, header, ERR_BAD_HEADER);
	return true;
}

// Of version 2: a Call whose header and RPC message disagree (section 4.2.2). What says of itself that it is a Reply is
// nobody's Call.
bool Responder::refuse_message(std::uint64_t number, const Decoded &message)
{
	const Header &header = message.header;
	if (header.version != VERSION_2 || header.direction != DIRECTION_CALL)
		return false;
	const bool lacks_call = header.type == RDMA_NOMSG ? header.reads.empty() : is_call(message.payload) != true;
	if (lacks_call)
		refuse(number, header, ERR_BAD_HEADER);
	return lacks_call;
}

void Responder::refuse(std::uint64_t number, const Header &refused, std::uint32_t error)
{
	Frame frame;
	frame.header.xid = refused.xid;
	frame.header.version = refused.version;
	frame.header.credits = connections_.at(number).credits;
	frame.header.type = RDMA_ERROR;
	frame.header.error = error;
	frame.header.version_low = versions.low;
	frame.header.version_high = versions.high;
	send(number, frame);
}

} // namespace peer
