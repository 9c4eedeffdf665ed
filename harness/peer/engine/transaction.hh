// SPDX-License-Identifier: GPL-2.0-only
//
// One RPC as a requester carries it: the Call with the memory that it offers (RFC 8166, section 3.5), and the judgement
// of what the responder made of it.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "codec/private_data.hh"
#include "engine/frame.hh"
#include "language/comparison.hh"
#include "nfs/nfs.hh"
#include "verbs/verbs.hh"

namespace peer {

/// The other end has broken a rule of the specifications; the text says which, and how.
class Violation : public std::runtime_error {
    public:
	explicit Violation(const std::string &text, Comparison comparison = {})
		: runtime_error(text)
		, comparison(std::move(comparison))
	{
	}

	/// What was expected and what came, where both are known.
	Comparison comparison;
};

/// What both ends have agreed on while connecting.
struct Agreement {
	std::uint32_t version = VERSION_1; // that Calls have
	std::size_t call_threshold = DEFAULT_INLINE_THRESHOLD; // bytes; RFC 8166, 3.3.2
	std::size_t reply_threshold = DEFAULT_INLINE_THRESHOLD;
	bool remote_invalidation = false;
};

/// As seen by the requester, which sent @sent; @received is the responder's CM private data, whole.
[[nodiscard]] Agreement agreement_of(const std::optional<PrivateData> &sent, ByteView received);

/// Version 2's inline threshold, which each receiver supports (draft-cel-nfsv4-rpcrdma-version-two-01, 2.3).
constexpr std::size_t VERSION_2_INLINE_THRESHOLD = 4096;

/// The same for Calls of a version. Where that is 2, no threshold is below version 2's.
[[nodiscard]] Agreement in_version(Agreement agreement, std::uint32_t version) noexcept;

/// Memory of a Call's own, by the name that a case has for it.
using MemoryByName = std::map<std::string, Memory>;

/// The Payload stream of a Reply, but for what was reduced, to a Call with the header @sent whose chunks are in @memory.
/// Throws Violation where the Reply does not give those back as it has to (RFC 8166, 3.4.6), or does not fit them.
[[nodiscard]] Bytes stream_of_reply(const Header &sent, const Decoded &reply, const MemoryByName &memory);

/// How a Call travels, and what it offers for its Reply.
enum class Style {
	/// What RFC 8166 wants of a requester: chunks where a message might not fit.
	as_needed,
	/// Everything in the message, nothing offered.
	in_line,
	/// DDP-eligible items in chunks even where they would fit.
	chunks,
	/// The Call in a Position Zero Read chunk, a Reply chunk for the Reply.
	long_form,
};

/// A judged Reply.
struct Reply {
	Header header;
	/// The whole stream: what was in chunks is where it belongs.
	Bytes stream;
	NfsResult result;
	std::size_t message_length = 0;
	std::optional<std::uint32_t> invalidated;
};

class Transaction {
    public:
	/// What memory for results is filled with, so that bytes which nobody was to write can be told.
	static constexpr std::uint8_t UNWRITTEN = 0xa5;

	/// Prepares a Call. The lines of @block change it; those that begin with "read" take the place of the Read chunks
	/// that @style would make, those that begin with "write" or "reply" of the other chunks. Memory is registered
	/// with the connection, which must outlive this. @names knows of memory beyond this Call's own, which is:
	///
	///   data, data2   the Call's first and second DDP-eligible item, with its roundup padding behind it
	///   stream        the whole Payload stream: a part of it that a Read chunk carries leaves the message
	///   call          the Payload stream, without what Read chunks carry
	///   result        room for the Reply's DDP-eligible item
	///   replies       room for the whole Reply
	///
	/// Throws ScriptError.
	Transaction(Connection &connection, const Agreement &agreement, NfsCall call, Style style,
		    const std::vector<Line> &block, const Names &names, bool windows = false);

	[[nodiscard]] const Frame &frame() const noexcept { return frame_; }
	[[nodiscard]] const NfsCall &call() const noexcept { return call_; }

	/// Looks at a message that may be this Call's Reply, as a requester has to. Throws Violation where it is not what
	/// the specifications want.
	[[nodiscard]] Reply judge(const Message &message) const;

	/// What the names of this Call's own memory, and of positions and thresholds, stand for.
	[[nodiscard]] Names names();
	/// This Call's own memory of that name, if it has been used; nullptr otherwise.
	[[nodiscard]] Memory *memory(const std::string &name);

    private:
	void change_stream(const std::vector<Line> &block);
	[[nodiscard]] std::optional<std::size_t> word_of_stream(const Line &line) const;
	void decide_results(const std::vector<Line> &block);
	void decide_reads(const std::vector<Line> &block);
	void note_reduced(const Line &line);
	void finish_call(const std::vector<Line> &block);
	[[nodiscard]] Memory &make(const std::string &name, std::size_t size, bool readable);
	[[nodiscard]] std::optional<Segment> segment(const std::string &name);
	[[nodiscard]] std::optional<std::uint64_t> value(const std::string &name) const;
	[[nodiscard]] Bytes inline_stream() const;

	Connection &connection_;
	Agreement agreement_;
	NfsCall call_;
	Style style_;
	Names outer_;
	bool windows_;
	Frame frame_;
	/// What of the Call is in Read chunks: its items, and whatever else the block has there.
	std::vector<Item> reduced_;
	MemoryByName memory_;
};

} // namespace peer
