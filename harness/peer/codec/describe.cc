// SPDX-License-Identifier: GPL-2.0-only
//
// Headers in a line, for people.

#include "codec/header.hh"

#include <array>
#include <sstream>

namespace peer {

std::string name_of_type(const Header &header)
{
	using Names = std::array<const char *, 6>;
	static constexpr Names OF_VERSION_1 = {"MSG", "NOMSG", "MSGP", "DONE", "ERROR", nullptr};
	static constexpr Names OF_VERSION_2 = {"MSG", "NOMSG", nullptr, nullptr, "ERROR", "OPTIONAL"};
	const Names &names = header.version == VERSION_2 ? OF_VERSION_2 : OF_VERSION_1;
	const char *const name = header.type < names.size() ? names[header.type] : nullptr;
	return name ? name : "type=" + std::to_string(header.type);
}

std::string name_of_error(const Header &header)
{
	if (header.error == ERR_VERS)
		return "ERR_VERS " + std::to_string(header.version_low) + ".." + std::to_string(header.version_high);
	if (header.version != VERSION_2)
		return "ERR_CHUNK";
	return header.error == ERR_INVAL_OPTION ? "ERR_INVAL_OPTION" : "ERR_BAD_HEADER";
}

namespace {

std::string name_of_direction(std::uint32_t direction)
{
	if (direction == DIRECTION_CALL)
		return "CALL";
	return direction == DIRECTION_REPLY ? "REPLY" : "direction=" + std::to_string(direction);
}

std::ostream &operator<<(std::ostream &out, const Segment &segment)
{
	return out << std::hex << "0x" << segment.handle << ":0x" << segment.offset << std::dec << '/'
		   << segment.length;
}

std::ostream &operator<<(std::ostream &out, const Chunk &chunk)
{
	out << '[';
	for (std::size_t i = 0; i < chunk.size(); i++)
		out << (i ? " " : "") << chunk[i];
	return out << ']';
}

} // namespace

std::string describe(const Header &header)
{
	std::ostringstream out;
	out << name_of_type(header) << " xid=0x" << std::hex << header.xid << std::dec << " vers=" << header.version
	    << " credits=" << header.credits;
	if (header.type == RDMA_ERROR)
		out << " " << name_of_error(header);
	else if (header.version == VERSION_2)
		out << " " << name_of_direction(header.direction);
	if (header.version == VERSION_2 && header.type == RDMA2_OPTIONAL)
		out << " opttype=" << header.option << " optinfo=" << header.option_info.size();
	for (const ReadSegment &read : header.reads)
		out << " read=" << read.position << "@" << read.target;
	for (const Chunk &chunk : header.writes)
		out << " write=" << chunk;
	if (header.reply)
		out << " reply=" << *header.reply;
	return out.str();
}

std::string describe_message(ByteView message)
{
	try {
		const Decoded decoded = decode(message);
		return describe(decoded.header) + " payload=" + std::to_string(decoded.payload.size());
	} catch (const Malformed &malformed) {
		return "malformed, " + std::to_string(message.size()) + " bytes: " + malformed.what();
	}
}

} // namespace peer
