// SPDX-License-Identifier: GPL-2.0-only

#include "engine/transaction.hh"

#include <algorithm>

namespace peer {

namespace {

// Beyond what an item or a Reply can need, for cases that offer more.
constexpr std::size_t SLACK = 64;

// The smallest header with chunk lists.
std::size_t shortest_header(std::uint32_t version)
{
	Header header;
	header.version = version;
	return encode(header).size();
}

bool begins(const Line &line, std::string_view verb)
{
	return line.words[0] == verb && line.words.size() > 1 && !line.words[1].ends_with('=');
}

bool any_begins(const std::vector<Line> &block, std::string_view verb)
{
	return std::any_of(block.begin(), block.end(), [&](const Line &line) { return begins(line, verb); });
}

std::string item_name(std::size_t index)
{
	return index == 0 ? "data" : "data" + std::to_string(index + 1);
}

bool names_memory(const std::string &word, const std::string &memory)
{
	return word.substr(0, word.find_first_of("+/")) == memory;
}

std::string text_of(const Segment &segment, const char *relation = "")
{
	return in_hex(segment.handle) + ":" + in_hex(segment.offset) + " " + relation + std::to_string(segment.length);
}

Comparison compare_chunks(const Chunk &offered, const Chunk &returned)
{
	Comparison rows = {compare("segments", std::to_string(offered.size()), std::to_string(returned.size()))};
	for (std::size_t i = 0; i < std::min(offered.size(), returned.size()); i++)
		rows.push_back({.what = "segment " + std::to_string(i),
				.expected = text_of(offered[i], "at most "),
				.came = text_of(returned[i]),
				.differs = returned[i].handle != offered[i].handle ||
					   returned[i].offset != offered[i].offset ||
					   returned[i].length > offered[i].length});
	return rows;
}

// RFC 8166, 3.4.6: the chunk comes back as it was offered but for the lengths, filled from its beginning on.
void judge_chunk(const Chunk &offered, const Chunk &returned, const std::string &what)
{
	if (returned.size() != offered.size())
		throw Violation(what + " was offered with " + std::to_string(offered.size()) +
					" segments and returned with " + std::to_string(returned.size()),
				compare_chunks(offered, returned));
	bool full = true;
	for (std::size_t i = 0; i < offered.size(); i++) {
		const std::string segment = what + ", segment " + std::to_string(i);
		if (returned[i].handle != offered[i].handle || returned[i].offset != offered[i].offset)
			throw Violation(segment + " was returned with another handle or offset",
					compare_chunks(offered, returned));
		if (returned[i].length > offered[i].length)
			throw Violation(segment + " was returned longer than it was offered",
					compare_chunks(offered, returned));
		if (returned[i].length > 0 && !full)
			throw Violation(segment + " has data behind a segment that is not full");
		full = returned[i].length == offered[i].length;
	}
}

void judge_lists(const Header &sent, const Header &returned)
{
	if (!returned.reads.empty())
		throw Violation("the Reply has a Read list");
	if (returned.writes.size() != sent.writes.size())
		throw Violation(std::to_string(sent.writes.size()) + " Write chunks were offered and " +
					std::to_string(returned.writes.size()) + " returned",
				{compare("Write chunks", std::to_string(sent.writes.size()),
					 std::to_string(returned.writes.size()))});
	for (std::size_t i = 0; i < sent.writes.size(); i++)
		judge_chunk(sent.writes[i], returned.writes[i], "Write chunk " + std::to_string(i));
	if (sent.reply.has_value() != returned.reply.has_value())
		throw Violation(sent.reply ? "the Reply chunk was not returned" :
					     "a Reply chunk was returned that was not offered");
	if (sent.reply)
		judge_chunk(*sent.reply, *returned.reply, "the Reply chunk");
}

const Memory *holder(const MemoryByName &all, const Segment &segment)
{
	for (const auto &[name, memory] : all) {
		const Segment whole = memory.segment();
		if (whole.handle == segment.handle && segment.offset >= whole.offset &&
		    segment.offset + segment.length <= whole.offset + whole.length)
			return &memory;
	}
	return nullptr;
}

// What the responder has written into a chunk, in order.
Bytes gather(const MemoryByName &all, const Chunk &written)
{
	Bytes data;
	for (const Segment &segment : written) {
		if (segment.length == 0)
			continue;
		const Memory *const memory = holder(all, segment);
		if (!memory)
			throw Violation("the responder says that it has written into memory that is not this Call's "
					"own");
		const auto bytes = memory->bytes().subspan(segment.offset - memory->segment().offset, segment.length);
		data.insert(data.end(), bytes.begin(), bytes.end());
	}
	return data;
}

void judge_fixed_fields(const Header &sent, const Header &returned)
{
	if (returned.version != sent.version)
		throw Violation("the Reply has version " + std::to_string(returned.version));
	if (returned.credits == 0)
		throw Violation("the Reply grants no credit (RFC 8166, 3.3.1)");
	if (returned.type == RDMA_ERROR)
		throw Violation("an RDMA_ERROR came instead of a Reply: " + describe(returned));
	if (returned.type != RDMA_MSG && returned.type != RDMA_NOMSG)
		throw Violation("the Reply is no RDMA_MSG or RDMA_NOMSG: " + describe(returned));
	if (returned.version == VERSION_2 && returned.direction != DIRECTION_REPLY)
		throw Violation("the Reply's direction is not REPLY (draft-cel-nfsv4-rpcrdma-version-two-01, 4.2.2)");
}

} // namespace

Bytes stream_of_reply(const Header &sent, const Decoded &reply, const MemoryByName &memory)
{
	const Header &header = reply.header;
	judge_lists(sent, header);
	const std::uint64_t in_reply_chunk = header.reply ? length_of(*header.reply) : 0;
	if (header.type == RDMA_MSG && in_reply_chunk > 0)
		throw Violation("the Reply chunk is used beside a Payload stream in the message");
	if (header.type == RDMA_NOMSG && in_reply_chunk == 0)
		throw Violation("an RDMA_NOMSG came whose Reply chunk is not used");
	return header.type == RDMA_NOMSG ? gather(memory, *header.reply) : reply.payload;
}

Agreement agreement_of(const std::optional<PrivateData> &sent, ByteView received)
{
	const PrivateData mine = sent.value_or(PrivateData{});
	const PrivateData its = find_private_data(received).value_or(PrivateData{});
	return {.call_threshold = std::min(mine.send_size, its.receive_size),
		.reply_threshold = std::min(its.send_size, mine.receive_size),
		.remote_invalidation = mine.remote_invalidation && its.remote_invalidation};
}

Agreement in_version(Agreement agreement, std::uint32_t version) noexcept
{
	agreement.version = version;
	if (version == VERSION_2) {
		agreement.call_threshold = std::max(agreement.call_threshold, VERSION_2_INLINE_THRESHOLD);
		agreement.reply_threshold = std::max(agreement.reply_threshold, VERSION_2_INLINE_THRESHOLD);
	}
	return agreement;
}

Transaction::Transaction(Connection &connection, const Agreement &agreement, NfsCall call, Style style,
			 const std::vector<Line> &block, const Names &names, bool windows)
	: connection_(connection)
	, agreement_(agreement)
	, call_(std::move(call))
	, style_(style)
	, outer_(names)
	, windows_(windows)
{
	frame_.header.xid = XdrReader(call_.call.stream).u32("the Call's XID");
	frame_.header.version = agreement_.version;
	frame_.header.credits = 32;
	change_stream(block);
	decide_results(block);
	decide_reads(block);
	finish_call(block);
}

// "stream[N] = VALUE": unlike "payload[N]", wherever the stream travels. "data.count = VALUE": what stands before the item.
void Transaction::change_stream(const std::vector<Line> &block)
{
	for (const Line &line : block)
		if (const auto word = word_of_stream(line))
			change_word(call_.call.stream, *word, line.words.at(1), evaluate(line.words.at(2), names()));
}

// Which word of the stream a line changes.
std::optional<std::size_t> Transaction::word_of_stream(const Line &line) const
{
	constexpr std::string_view STREAM = "stream[";
	const std::string &name = line.words[0];
	if (name.starts_with(STREAM))
		return evaluate(name.substr(STREAM.size(), name.find(']') - STREAM.size()), {});
	for (std::size_t i = 0; i < call_.call.items.size(); i++)
		if (name == item_name(i) + ".count")
			return call_.call.items[i].offset / 4 - 1;
	return std::nullopt;
}

// RFC 8166, 3.5: a Write chunk for what may be reduced, a Reply chunk where the rest still might not fit.
void Transaction::decide_results(const std::vector<Line> &block)
{
	if (any_begins(block, "write") || any_begins(block, "reply") || style_ == Style::in_line)
		return;
	const std::size_t room = agreement_.reply_threshold - shortest_header(agreement_.version);
	if (style_ == Style::long_form) {
		frame_.header.reply = Chunk{*segment("replies")};
		return;
	}
	if (style_ != Style::chunks && call_.longest_reply <= room)
		return;
	if (call_.longest_item > 0)
		frame_.header.writes.push_back({*segment("result")});
	constexpr std::size_t ONE_WRITE_CHUNK = 24;
	if (call_.longest_reply - call_.longest_item + ONE_WRITE_CHUNK > room)
		frame_.header.reply = Chunk{*segment("replies")};
}

void Transaction::decide_reads(const std::vector<Line> &block)
{
	if (any_begins(block, "read")) {
		for (const Line &line : block)
			if (begins(line, "read"))
				note_reduced(line);
		for (const Line &line : block)
			if (begins(line, "read"))
				apply(frame_, line, names());
		return;
	}
	const std::size_t room =
		agreement_.call_threshold - std::min(agreement_.call_threshold, encode(frame_.header).size());
	const bool fits = call_.call.stream.size() <= room;
	if (style_ == Style::in_line || (style_ == Style::as_needed && fits))
		return;
	constexpr std::size_t ONE_READ_SEGMENT = 24;
	if (style_ != Style::long_form && !call_.call.items.empty()) {
		reduced_ = call_.call.items;
		if (style_ == Style::chunks || inline_stream().size() + ONE_READ_SEGMENT * reduced_.size() <= room) {
			for (std::size_t i = 0; i < reduced_.size(); i++) {
				Segment item = *segment(item_name(i));
				item.length = static_cast<std::uint32_t>(call_.call.items[i].length);
				frame_.header.reads.push_back(
					{static_cast<std::uint32_t>(call_.call.items[i].offset), item});
			}
			return;
		}
		reduced_.clear();
	}
	if (style_ != Style::chunks)
		frame_.header.reads.push_back({0, *segment("call")});
}

// A Read chunk carries the item at its Position, the items that it names, or that part of the stream.
void Transaction::note_reduced(const Line &line)
{
	const std::uint64_t position = evaluate(line.words[1], names());
	const auto is_named = [&](const std::string &memory) {
		return std::any_of(line.words.begin() + 2, line.words.end(),
				   [&](const std::string &word) { return names_memory(word, memory); });
	};
	const auto add = [this](const Item &item) {
		const auto same = [&](const Item &other) { return other.offset == item.offset; };
		if (std::none_of(reduced_.begin(), reduced_.end(), same))
			reduced_.push_back(item);
	};
	for (std::size_t i = 0; i < call_.call.items.size(); i++)
		if (position == call_.call.items[i].offset || is_named(item_name(i)))
			add(call_.call.items[i]);
	for (const std::string &word : line.words)
		if (names_memory(word, "stream"))
			add({.offset = position, .length = evaluate_segment(word, names()).length});
}

// Puts the stream where it travels, then lets the block change what it likes.
void Transaction::finish_call(const std::vector<Line> &block)
{
	const Bytes stream = inline_stream();
	if (Memory *const call = memory("call"))
		std::copy(stream.begin(), stream.end(), call->bytes().begin());
	const bool is_long = std::any_of(frame_.header.reads.begin(), frame_.header.reads.end(),
					 [](const ReadSegment &read) { return read.position == 0; });
	if (is_long)
		frame_.header.type = RDMA_NOMSG;
	else
		frame_.payload = stream;

	for (const Line &line : block) {
		if (line.words == Words{"payload", "whole"})
			frame_.payload = call_.call.stream;
		else if (!begins(line, "read") && !word_of_stream(line))
			apply(frame_, line, names());
	}
}

Bytes Transaction::inline_stream() const
{
	Bytes stream = call_.call.stream;
	std::vector<Item> from_the_end = reduced_;
	std::sort(from_the_end.begin(), from_the_end.end(),
		  [](const Item &a, const Item &b) { return a.offset > b.offset; });
	for (const Item &item : from_the_end) {
		const auto first = stream.begin() + static_cast<std::ptrdiff_t>(item.offset);
		stream.erase(first, first + static_cast<std::ptrdiff_t>(item.length + roundup_of(item.length)));
	}
	return stream;
}

Memory &Transaction::make(const std::string &name, std::size_t size, bool readable)
{
	const Access access = windows_ ? (readable ? Access::window_read : Access::window_write) :
					 (readable ? Access::read : Access::write);
	Memory &memory = memory_.try_emplace(name, connection_, size, access).first->second;
	if (!readable)
		std::fill(memory.bytes().begin(), memory.bytes().end(), Transaction::UNWRITTEN);
	return memory;
}

std::optional<Segment> Transaction::segment(const std::string &name)
{
	if (Memory *const existing = memory(name); existing && name != "call")
		return existing->segment();
	for (std::size_t i = 0; i < call_.call.items.size(); i++) {
		if (name != item_name(i))
			continue;
		const Item &item = call_.call.items[i];
		Memory &memory = make(name, item.length + roundup_of(item.length), true);
		std::copy_n(call_.call.stream.begin() + static_cast<std::ptrdiff_t>(item.offset), item.length,
			    memory.bytes().begin());
		return memory.segment();
	}
	if (name == "stream") {
		Memory &memory = make(name, call_.call.stream.size(), true);
		std::copy(call_.call.stream.begin(), call_.call.stream.end(), memory.bytes().begin());
		return memory.segment();
	}
	if (name == "call")
		return (memory(name) ? *memory(name) : make(name, call_.call.stream.size() + SLACK, true))
			.segment(0, inline_stream().size());
	if (name == "result")
		return make(name, call_.longest_item + roundup_of(call_.longest_item) + SLACK, false)
			.segment(0, std::max<std::size_t>(call_.longest_item, 4));
	if (name == "replies")
		return make(name, call_.longest_reply + SLACK, false).segment();
	return outer_.memory ? outer_.memory(name) : std::nullopt;
}

std::optional<std::uint64_t> Transaction::value(const std::string &name) const
{
	for (std::size_t i = 0; i < call_.call.items.size(); i++) {
		if (name == item_name(i) + ".position")
			return call_.call.items[i].offset;
		if (name == item_name(i) + ".length")
			return call_.call.items[i].length;
	}
	if (name == "call.length")
		return call_.call.stream.size();
	if (name == "result.length")
		return call_.longest_item;
	if (name == "replies.length")
		return call_.longest_reply;
	if (name == "message")
		return frame_.bytes().size();
	if (name == "xid")
		return frame_.header.xid;
	if (name == "call_threshold")
		return agreement_.call_threshold;
	if (name == "reply_threshold")
		return agreement_.reply_threshold;
	if (const auto of_memory = value_of_memory(name, [this](const std::string &memory) {
		    const auto mine = memory_.find(memory);
		    return mine == memory_.end() ? std::nullopt : std::optional(mine->second.segment());
	    }))
		return of_memory;
	return outer_.value ? outer_.value(name) : std::nullopt;
}

Names Transaction::names()
{
	return {.value = [this](const std::string &name) { return value(name); },
		.memory = [this](const std::string &name) { return segment(name); }};
}

Memory *Transaction::memory(const std::string &name)
{
	const auto found = memory_.find(name);
	return found == memory_.end() ? nullptr : &found->second;
}

Reply Transaction::judge(const Message &message) const
{
	if (message.bytes.size() > agreement_.reply_threshold)
		throw Violation("the Reply is " + std::to_string(message.bytes.size()) +
					" bytes long, above the inline threshold (RFC 8166, 3.3.2)",
				{{.what = "bytes of the message",
				  .expected = "at most " + std::to_string(agreement_.reply_threshold),
				  .came = std::to_string(message.bytes.size()),
				  .differs = true}});
	Decoded decoded;
	try {
		decoded = decode(message.bytes);
	} catch (const Malformed &malformed) {
		throw Violation(std::string("the Reply cannot be decoded: ") + malformed.what());
	}
	const Header &sent = frame_.header;
	const Header &header = decoded.header;
	if (header.xid != sent.xid)
		throw Violation("the message is for another XID");
	judge_fixed_fields(sent, header);
	const Bytes stream = stream_of_reply(sent, decoded, memory_);

	if (message.invalidated) {
		if (!agreement_.remote_invalidation)
			throw Violation("the Reply invalidates a handle, which was not agreed on (RFC 8797, 4.1)",
					{compare("invalidated handle", "none", in_hex(*message.invalidated))});
		const bool offered = std::any_of(memory_.begin(), memory_.end(), [&](const auto &named) {
			return named.second.segment().handle == *message.invalidated;
		});
		if (!offered)
			throw Violation("the Reply invalidates a handle that is not this Call's (RFC 8797, 4.1)");
	}

	Reply reply = {.header = header,
		       .stream = stream,
		       .result = {},
		       .message_length = message.bytes.size(),
		       .invalidated = message.invalidated};
	try {
		Bytes item;
		for (const Chunk &chunk : header.writes) {
			const Bytes part = gather(memory_, chunk);
			item.insert(item.end(), part.begin(), part.end());
		}
		if (!item.empty()) {
			if (!call_.rebuild)
				throw Violation("a Write chunk is used, but no result of " + call_.name +
						" may be reduced");
			reply.stream = call_.rebuild(reply.stream, item);
		}
		XdrReader xdr(reply.stream);
		if (const ReplyHeader rpc = read_reply(xdr); rpc.xid != sent.xid)
			throw Violation("the RPC message has another XID than its header (bis-04, 5.2.1)");
		reply.result = call_.read(reply.stream);
	} catch (const Malformed &malformed) {
		throw Violation(std::string("the Payload stream cannot be decoded: ") + malformed.what());
	}
	return reply;
}

} // namespace peer
