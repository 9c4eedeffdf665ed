// SPDX-License-Identifier: GPL-2.0-only
//
// A message as a case makes it or looks at it: the header and payload of a well-behaved peer, and lines that change, or
// compare, one thing of it at a time. rpcordma-peer-case(5) lists what the lines can say.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codec/header.hh"
#include "language/case.hh"

namespace peer {

/// What the words of a case stand for, beyond numbers and the names of types and errors.
struct Names {
	/// The value of a name such as "data.position"; nothing where it is unknown.
	std::function<std::optional<std::uint64_t>(const std::string &)> value;
	/// The whole of the memory with that name, as a segment; nothing where there is none.
	std::function<std::optional<Segment>(const std::string &)> memory;
};

/// The value of "MEMORY.handle", "MEMORY.offset" or "MEMORY.length" where @find knows of that memory.
[[nodiscard]] std::optional<std::uint64_t>
value_of_memory(const std::string &name, const std::function<std::optional<Segment>(const std::string &)> &find);

/// A number: "12", "0x10", "max" (2^32 - 1), "MSG", a name, or a sum or difference of those ("data.position+4").
/// Throws ScriptError.
[[nodiscard]] std::uint64_t evaluate(const std::string &expression, const Names &names);

/// A segment: "MEMORY", "MEMORY/LENGTH", "MEMORY+OFFSET/LENGTH", or "HANDLE:OFFSET/LENGTH" for what may not exist.
/// Throws ScriptError.
[[nodiscard]] Segment evaluate_segment(const std::string &word, const Names &names);

/// A message to be sent.
struct Frame {
	Header header;
	Bytes payload;
	/// Sent as a Send With Invalidate of this handle.
	std::optional<std::uint32_t> invalidate;
	/// What is done to the encoded message, in order.
	std::vector<std::function<void(Bytes &)>> damage;

	[[nodiscard]] Bytes bytes() const;
};

/// Changes word @index of a message or a Payload stream: @operation is one of = += -= ^=. Throws ScriptError.
void change_word(Bytes &bytes, std::size_t index, const std::string &operation, std::uint64_t operand);

/// Does what a line of a block says to the frame. Throws ScriptError.
void apply(Frame &frame, const Line &line, const Names &names);

/// A field of a header, or of a chunk: "credits", "write[0][1].length", "reply.length" (the chunk's), "writes" (how
/// many), "optinfo.length". Nothing where the header has no such thing.
[[nodiscard]] std::optional<std::uint64_t> field(const Header &header, const std::string &name);

/// Checks "FIELD OPERATOR VALUE [or VALUE]...", where the operator is one of = != < <= > >=. The text says what was found
/// where it is not so; nothing where it is. Throws ScriptError.
[[nodiscard]] std::optional<std::string> check(const Line &line, const Names &fields, const Names &names);

} // namespace peer
