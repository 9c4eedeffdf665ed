// SPDX-License-Identifier: GPL-2.0-only
//
// What the fuzzers of servers and of clients share: what is asked of them, what they tell, and the messages that they send.

#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/client.hh"
#include "engine/frame.hh"
#include "fuzz/dice.hh"

namespace peer {

/// So many messages go out at once, in front of one that is in order.
inline constexpr std::size_t GROUP = 15;

struct FuzzSettings {
	/// How many messages.
	std::uint64_t count = 0;
	/// The numbers that the changes follow from. Memory handles and offsets are the device's, and others in each run.
	std::uint32_t seed = 0;
	/// The highest version of RPC-over-RDMA.
	std::uint32_t protocol = VERSION_1;
	Patience patience;
};

/// What was sent, and what became of it.
struct FuzzTally {
	std::uint64_t messages = 0;
	std::uint64_t connections = 0;
	/// What came back by its kind: see kind_of(). A message without an answer was discarded, or its connection ended.
	std::map<std::string, std::uint64_t> answers;
	/// Why connections ended.
	std::map<std::string, std::uint64_t> ends;
};

/// The header of a message; nothing where it has none that can be decoded.
[[nodiscard]] std::optional<Header> header_of(ByteView message);
/// "Reply", "OPTIONAL", the error's name such as "ERR_CHUNK", or "malformed" where there is no header.
[[nodiscard]] std::string kind_of(const std::optional<Header> &answer);
/// Why a connection ended, in a few words that are the same for the same reason.
[[nodiscard]] std::string reason_of(const Closed &end);

/// What a well-behaved peer would send, with a header that says something else, or with some of its bytes changed: those of
/// its header and of the first @front bytes behind that three times out of four. It is rarely longer than @threshold.
[[nodiscard]] Bytes changed_message(Frame frame, std::size_t front, std::size_t threshold, Dice &dice);

} // namespace peer
