// SPDX-License-Identifier: GPL-2.0-only
/// What a message that a responder received is, and what its sender gets for it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "proto/option.hh"

namespace rpcordma::proto {

/// A Call with a well-formed header. Its chunks have not been judged: see Assembly::of().
struct Call {
	wire::Xid xid;
	/// A request: how many Replies the requester can take at once.
	std::uint32_t credits;
	wire::Chunks chunks;
	/// RDMA_NOMSG: a Position Zero Read chunk has the Payload stream.
	bool is_long;
	/// Empty in a Long Call.
	wire::Bytes payload;
	/// What it is answered in.
	wire::Version version = wire::Version::one;
};

/// Which RDMA_ERROR a message is answered with.
enum class Refusal : std::uint8_t {
	/// ERR_VERS, with the versions that there are (RFC 8166, 4.5.1).
	version,
	/// ERR_CHUNK (RFC 8166, 4.5.2, 4.6.1), which version 2 calls ERR_BAD_HEADER.
	malformed,
	/// ERR_INVAL_OPTION, of version 2 alone (draft-cel-nfsv4-rpcrdma-version-two-01, 3.1).
	option,
};

/// For trace events and the log: scripts look for these words (Documentation/administration.rst).
[[nodiscard]] inline const char *name_of(Refusal error) noexcept
{
	static constexpr const char *names[] = {"ERR_VERS", "ERR_CHUNK", "ERR_INVAL_OPTION"};
	return names[std::to_underlying(error)];
}

/// Which of them a message is that has this body; none where it is no error.
[[nodiscard]] inline std::optional<Refusal> refusal_of(const wire::Body &body) noexcept
{
	if (std::holds_alternative<wire::VersionError>(body))
		return Refusal::version;
	if (std::holds_alternative<wire::ChunkError>(body))
		return Refusal::malformed;
	if (std::holds_alternative<wire::OptionError>(body))
		return Refusal::option;
	return std::nullopt;
}

/// The same of a whole message; none where it cannot be decoded.
[[nodiscard]] std::optional<Refusal> refusal_in(wire::Bytes message) noexcept;

/// No Call that can be carried out.
struct Refused {
	wire::Xid xid;
	/// The answer carries the version of the message.
	std::uint32_t version;
	Refusal with;
};

/// Writes the answer to the front of `room`, which the smallest of buffers has, and returns its size. `highest` is the highest
/// version that is accepted.
[[nodiscard]] wire::Result<std::size_t> encode_refusal(wire::MutableBytes room, const Refused &message,
						       std::uint32_t credits, wire::Version highest) noexcept;

/// A Reply in the reverse direction (RFC 8167, 5.1).
struct ReverseReply {
	wire::Xid xid;
	/// A grant (RFC 8167, 4.1).
	std::uint32_t credits;
	wire::Chunks chunks;
	wire::Bytes payload;
};

/// Nothing that may be answered: traced and forgotten.
enum class Ignored : std::uint8_t {
	/// Shorter than any header: not even its XID can be trusted (RFC 8166, 4.5).
	too_short,
	/// An RDMA_ERROR of any version: peers that complain of each other's complaints would not end.
	error_message,
	/// RDMA_DONE (RFC 8166, 4.6.2).
	done,
	/// A message of version 2 that says it is a Reply, and answers no Call: a requester discards it (RFC 8166, 4.5).
	reply,
	/// An optional message in direction REPLY whose type is not known. An ERROR goes in direction REPLY as well, so that its
	/// receiver would take it for the answer to a Call of its own with that XID
	/// (draft-cel-nfsv4-rpcrdma-version-two-01, 4.2.2).
	optional_reply,
};

/// For trace events and the log: scripts look for these words (Documentation/administration.rst).
[[nodiscard]] inline const char *name_of(Ignored reason) noexcept
{
	static constexpr const char *names[] = {"too short", "RDMA_ERROR", "RDMA_DONE",
						"reply in the reverse direction", "unknown option in a reply"};
	return names[std::to_underlying(reason)];
}

using Arrival = std::variant<Call, Refused, ReverseReply, Ignored, Option>;

/// The smallest RPC Call in bytes: XID, message type, RPC version, program, version, procedure, and two empty
/// authentication fields of eight bytes (RFC 5531, 9).
inline constexpr std::uint32_t smallest_rpc_call = 40;

/// Decodes a message and finds what it is. `highest` is the highest version that is accepted.
[[nodiscard]] Arrival classify_arrival(wire::Bytes message, wire::Version highest,
				       OptionalFeatures features = known_features) noexcept;

/// A quick look that finds no Reply in the reverse direction where there is one only if that has chunks, which no Reply of
/// ours has been offered. What it finds has to be decoded all the same.
[[nodiscard]] bool may_be_reverse_reply(wire::Bytes message) noexcept;

/// Whether a Payload stream begins like an RPC Call with that XID. What a Long Call holds is known only after it has been
/// pulled.
[[nodiscard]] bool payload_is_call(wire::Bytes payload, wire::Xid xid) noexcept;

} // namespace rpcordma::proto
