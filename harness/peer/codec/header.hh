// SPDX-License-Identifier: GPL-2.0-only
//
// The header of RPC-over-RDMA version 1 (RFC 8166, section 4; rfc5666bis-04, section 5), and of version 2
// (draft-cel-nfsv4-rpcrdma-version-two-01, section 4.2). It can hold, and writes, headers that no well-behaved peer would
// send.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codec/xdr.hh"

namespace peer {

constexpr std::uint32_t VERSION_1 = 1;
constexpr std::uint32_t VERSION_2 = 2;

/// rdma_proc: the type of a header. Other values can be put there too.
enum MessageType : std::uint32_t {
	RDMA_MSG = 0,
	RDMA_NOMSG = 1,
	RDMA_MSGP = 2,
	RDMA_DONE = 3,
	RDMA_ERROR = 4,
	RDMA2_OPTIONAL = 5, // of version 2, which has no MSGP and no DONE
};

/// rdma_err: what an RDMA_ERROR is about.
enum ErrorCode : std::uint32_t {
	ERR_VERS = 1,
	ERR_CHUNK = 2,
	ERR_BAD_HEADER = 2, // what version 2 calls it
	ERR_INVAL_OPTION = 3, // of version 2
};

/// rdma_direction and rdma_optdir of version 2: the msg_type of RPC.
enum Direction : std::uint32_t {
	DIRECTION_CALL = 0,
	DIRECTION_REPLY = 1,
};

/// Memory that a requester offers (RFC 8166, section 3.4.3).
struct Segment {
	std::uint32_t handle = 0;
	std::uint32_t length = 0;
	std::uint64_t offset = 0;

	bool operator==(const Segment &) const = default;
};

/// A Write or Reply chunk: all its segments.
using Chunk = std::vector<Segment>;

/// A Read segment: those of the same position are a Read chunk (RFC 8166, section 3.4.5).
struct ReadSegment {
	std::uint32_t position = 0;
	Segment target;

	bool operator==(const ReadSegment &) const = default;
};

/// What stands in front of the Payload stream. Which fields are on the wire follows from the version and the type: an
/// RDMA_ERROR has the error's alone, RDMA_MSGP has two words of its own, RDMA_DONE nothing behind the type. In version 2
/// the direction stands in front of the chunk lists, and RDMA2_OPTIONAL has the option's fields in their place.
struct Header {
	std::uint32_t xid = 0;
	std::uint32_t version = VERSION_1;
	std::uint32_t credits = 1;
	std::uint32_t type = RDMA_MSG;

	std::uint32_t align = 0;
	std::uint32_t threshold = 0;

	std::vector<ReadSegment> reads;
	std::vector<Chunk> writes;
	std::optional<Chunk> reply;

	std::uint32_t error = ERR_CHUNK;
	std::uint32_t version_low = VERSION_1;
	std::uint32_t version_high = VERSION_1;

	std::uint32_t direction = DIRECTION_CALL;
	std::uint32_t option = 0; // rdma_opttype
	Bytes option_info; // rdma_optinfo
};

/// The header's bytes, in version 2's form where that is its version, and in version 1's for every other. A header of a
/// type that is not defined is written with chunk lists, like RDMA_MSG.
[[nodiscard]] Bytes encode(const Header &header);

/// A message taken apart: its header, and the bytes behind it.
struct Decoded {
	Header header;
	Bytes payload;
};

/// Takes a received message apart. Throws Malformed where it is not what the specification defines for its type, or
/// has a type that is not defined. A version other than 1 and 2 is not an error here, and read like version 1: it is in
/// the header for the caller to judge, and so is everything that is well-formed but wrong.
[[nodiscard]] Decoded decode(ByteView message);

/// How long a chunk is: the sum of its segments' lengths.
[[nodiscard]] std::uint64_t length_of(const Chunk &chunk) noexcept;

/// "MSG", "ERROR"; "type=7" where the version has no such type.
[[nodiscard]] std::string name_of_type(const Header &header);
/// What an RDMA_ERROR says: "ERR_VERS 1..1".
[[nodiscard]] std::string name_of_error(const Header &header);
/// One line for people: "MSG xid=0x1 vers=1 credits=3 write=[0x10:0x0/4096]".
[[nodiscard]] std::string describe(const Header &header);
/// The same for any message, "malformed: ..." where it cannot be decoded.
[[nodiscard]] std::string describe_message(ByteView message);

} // namespace peer
