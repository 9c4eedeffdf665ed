// SPDX-License-Identifier: GPL-2.0-only
//
// What a case sends, on its own or in answer.

#include "suite/server_run.hh"

#include <algorithm>
#include <utility>

#include "service/service.hh"

namespace peer {

std::uint64_t Run::size_argument(const Words &words, std::size_t index) const
{
	if (index >= words.size())
		throw ScriptError("'" + words[index - 1] + "' needs a size");
	return evaluate(words[index], {});
}

NfsCall Run::call_of(const Words &words)
{
	const std::uint32_t xid = next_xid();
	const std::string &what = words.at(1);
	const std::uint64_t offset = number_behind(words, "at", 0);
	if (what == "null")
		return nfs3::null(xid);
	if (what == "getattr")
		return nfs3::getattr(xid, server_.data);
	if (what == "lookup")
		return nfs3::lookup(xid, server_.directory, "data");
	if (what == "read") {
		read_offset_ = offset;
		return nfs3::read(xid, server_.data, offset, static_cast<std::uint32_t>(size_argument(words, 2)));
	}
	if (what == "write") {
		written_ = pattern(0, size_argument(words, 2), ++seed_);
		return nfs3::write(xid, server_.scratch, offset, written_);
	}
	if (what == "readdir")
		return nfs3::readdir(xid, server_.many, static_cast<std::uint32_t>(size_argument(words, 2)));
	if (what == "readlink")
		return nfs3::readlink(xid, server_.link);
	if (what == "symlink") {
		const Bytes text = pattern(0, size_argument(words, 2), ++seed_);
		std::string target;
		for (const std::uint8_t byte : text)
			target += static_cast<char>('a' + byte % 26);
		return nfs3::symlink(xid, server_.directory, "made", target);
	}
	if (what == "remove")
		return nfs3::remove(xid, server_.directory, contains(words, "delegated") ? delegated().name : "made");
	if (what == "program")
		return bare_call(xid, words);
	if (what == "v4")
		return call_of_version_4(words);
	throw ScriptError("'" + what + "' is no Call that can be sent");
}

NfsCall Run::bare_call(std::uint32_t xid, const Words &words)
{
	XdrWriter xdr;
	write(xdr, CallHeader{.xid = xid,
			      .program = static_cast<std::uint32_t>(evaluate(words.at(2), {})),
			      .version = static_cast<std::uint32_t>(evaluate(words.at(3), {})),
			      .procedure = static_cast<std::uint32_t>(evaluate(words.at(4), {}))});
	NfsCall call = nfs3::null(xid);
	call.name = text_of(words);
	call.call = {xdr.take(), {}};
	return call;
}

const Run::Delegated &Run::delegated() const
{
	if (delegated_.empty())
		throw ScriptError("no file has been opened");
	return delegated_.back();
}

bool Run::has_second_size(const Words &words)
{
	return words.size() > 4 && words[4] != "as" && words[4] != "times";
}

NfsCall Run::call_of_version_4(const Words &words)
{
	Link &here = link();
	if (!here.has_session)
		make_session(here);
	nfs4::Session &session = here.session;
	const std::string &what = words.at(2);
	if (what == "getattr")
		return nfs4::getattr(next_xid(), session, server_.data);
	if (what == "read") {
		read_offset_ = 0;
		return nfs4::read(next_xid(), session, server_.data, 0,
				  static_cast<std::uint32_t>(size_argument(words, 3)));
	}
	if (what == "read-and-readlink") {
		read_offset_ = 0;
		return nfs4::read_and_readlink(next_xid(), session, server_.data,
					       static_cast<std::uint32_t>(size_argument(words, 3)), server_.link);
	}
	if (what == "write") {
		written_ = pattern(0, size_argument(words, 3), ++seed_);
		Bytes second;
		if (has_second_size(words))
			second = pattern(written_.size(), size_argument(words, 4), seed_);
		NfsCall call = nfs4::write(next_xid(), session, server_.scratch, 0, written_, second);
		written_.insert(written_.end(), second.begin(), second.end());
		return call;
	}
	if (what == "readdir")
		return nfs4::readdir(next_xid(), session, server_.many,
				     static_cast<std::uint32_t>(size_argument(words, 3)));
	if (what == "readlink")
		return nfs4::readlink(next_xid(), session, server_.link);
	if (what == "open") {
		delegated_.push_back({server_.make_file(), {}, {}});
		server_.opened_by(here.owner);
		return nfs4::open(next_xid(), session, server_.directory, delegated_.back().name);
	}
	if (what == "return") {
		const Delegated returned = delegated();
		delegated_.pop_back();
		return nfs4::delegreturn(next_xid(), session, returned.file, returned.delegation);
	}
	throw ScriptError("'" + what + "' is no Call of version 4 that can be sent");
}

unsigned Run::next_seed() noexcept
{
	constexpr unsigned MOST_WRITES = 8;
	static unsigned seed = 0;
	return seed += MOST_WRITES;
}

void Run::make_session(Link &here)
{
	const auto carry = [&](const NfsCall &call) {
		auto sent = std::make_unique<Transaction>(*here.connection, here.agreement, call, Style::as_needed,
							  std::vector<Line>{}, Names{});
		transmit(here, sent->frame());
		const Message message = next_message(here, "a Reply to " + call.name);
		const Reply reply = sent->judge(message);
		if (reply.result.status != 0)
			throw Violation(call.name + " failed with NFS status " + std::to_string(reply.result.status));
		return reply.stream;
	};
	const std::uint32_t xid = next_xid();
	here.owner = "rpcordma-peer " + std::to_string(xid);
	nfs4::take_exchange_id(here.session, carry(nfs4::exchange_id(xid, here.owner)));
	here.has_backchannel = !here.forward_only;
	nfs4::take_create_session(here.session,
				  carry(nfs4::create_session(next_xid(), here.session, !here.forward_only)));
	static_cast<void>(carry(nfs4::reclaim_complete(next_xid(), here.session)));
	here.has_session = true;
}

void Run::note_sent(ByteView message)
{
	if (message.size() < 8)
		return;
	XdrReader xdr(message);
	sent_.xid = xdr.u32("rdma_xid");
	sent_.version = xdr.u32("rdma_vers");
}

void Run::transmit(Link &here, const Frame &frame)
{
	here.last = frame.bytes();
	note_sent(here.last);
	record(true, here.last, frame.invalidate);
	trace("-> " + describe_message(here.last));
	note_outcome(here.connection->send(here.last, frame.invalidate, patience_.deadline()));
}

void Run::note_outcome(const Transferred &sent)
{
	if (sent.inconclusive)
		throw Violation("the message did not go out: " + sent.status);
	if (!sent.ok)
		trace("   which failed: " + sent.status);
}

Style Run::style_of(const Words &words)
{
	static const std::map<std::string, Style> STYLES = {
		{"inline", Style::in_line}, {"chunks", Style::chunks}, {"long", Style::long_form}};
	const auto word = behind(words, "as");
	if (!word)
		return Style::as_needed;
	const auto style = STYLES.find(*word);
	if (style == STYLES.end())
		throw ScriptError("a Call travels as inline, chunks or long");
	return style->second;
}

void Run::send(const Step &step)
{
	const Words &words = step.line.words;
	Link &here = link();
	const std::string &what = words.at(1);
	if (what == "again")
		return send_again(here, behind(words, "of").value_or(current_));
	if (what == "raw" || what == "bytes" || what == "reply" || what == "option")
		return send_own(here, step);

	const auto times = behind(words, "times");
	std::vector<Bytes> together;
	for (std::uint64_t i = 0; i < (times ? evaluate(*times, names()) : 1); i++) {
		NfsCall call = call_of(words);
		auto transaction = std::make_unique<Transaction>(*here.connection, here.agreement, std::move(call),
								 style_of(words), step.block, names(), here.windows);
		const Frame &frame = transaction->frame();
		if (times)
			together.push_back(frame.bytes());
		else
			transmit(here, frame);
		here.outstanding.emplace_back(frame.header.xid, std::move(transaction));
	}
	if (!times)
		return;
	note_sent(together.back());
	for (const Bytes &message : together)
		record(true, message);
	trace("-> " + *times + " times: " + describe_message(together.back()));
	note_outcome(here.connection->send_all(together, patience_.deadline()));
}

void Run::send_again(Link &here, const std::string &from)
{
	here.last = links_.at(from).last;
	note_sent(here.last);
	record(true, here.last);
	trace("-> again: " + describe_message(here.last));
	note_outcome(here.connection->send(here.last, std::nullopt, patience_.deadline()));
}

void Run::send_own(Link &here, const Step &step)
{
	const Words &words = step.line.words;
	Frame frame = own_frame(here, words);
	for (const Line &line : step.block)
		apply(frame, line, names());
	const auto times = behind(words, "times");
	if (!times)
		return transmit(here, frame);
	trace("-> " + *times + " times: " + describe_message(frame.bytes()));
	const std::vector<Bytes> together(evaluate(*times, names()), frame.bytes());
	for (const Bytes &message : together)
		record(true, message);
	note_outcome(here.connection->send_all(together, patience_.deadline()));
}

Frame Run::own_frame(Link &here, const Words &words)
{
	Frame frame;
	frame.header.xid = next_xid();
	frame.header.version = here.agreement.version;
	frame.header.credits = 32;
	if (words[1] == "reply") {
		XdrWriter xdr;
		write(xdr, ReplyHeader{.xid = frame.header.xid});
		frame.header.direction = DIRECTION_REPLY;
		frame.payload = xdr.take();
	} else if (words[1] == "option") {
		frame.header.type = RDMA2_OPTIONAL;
		frame.header.option = static_cast<std::uint32_t>(evaluate(words.at(2), names()));
		frame.header.option_info = words.size() > 3 ? bytes_of_hex(words[3]) : Bytes();
	} else if (words[1] == "raw") {
		const Bytes bytes = bytes_of_hex(words.at(2));
		frame.damage.push_back([bytes](Bytes &message) { message = bytes; });
	} else {
		const auto byte = static_cast<std::uint8_t>(evaluate(words.at(2), {}));
		const std::uint64_t length = evaluate(words.at(3), {});
		frame.damage.push_back([=](Bytes &message) { message.assign(length, byte); });
	}
	return frame;
}

void Run::answer(const Step &step)
{
	const Words &words = step.line.words;
	Link &here = link();
	if (!here.reverse_call)
		throw ScriptError("there is no Call in the reverse direction to answer");
	const Header &call = here.reverse_call->header;
	Frame frame = answer_to(here, call);
	if (contains(words, "error")) {
		frame.header.type = RDMA_ERROR;
		frame.header.error = static_cast<std::uint32_t>(evaluate(words.at(2), {}));
	} else {
		frame.payload = reply_to(call, results_of_answer(here, words));
		frame.header.reply = call.reply;
		write_reply(here, frame, contains(words, "long"));
	}
	for (const Line &line : step.block)
		apply(frame, line, names());
	transmit(here, frame);
}

Frame Run::answer_to(const Link &here, const Header &call)
{
	Frame frame;
	frame.header.xid = call.xid;
	frame.header.version = call.version;
	frame.header.credits = here.reverse_credits;
	frame.header.direction = DIRECTION_REPLY;
	return frame;
}

Bytes Run::reply_to(const Header &call, ByteView results)
{
	XdrWriter xdr;
	write(xdr, ReplyHeader{.xid = call.xid});
	xdr.fixed(results);
	return xdr.take();
}

Bytes Run::results_of_answer(const Link &here, const Words &words)
{
	if (contains(words, "recall"))
		return results_of_recall(here.reverse_stream);
	return words.size() > 1 && words[1] != "long" ? bytes_of_hex(words[1]) : Bytes();
}

void Run::write_reply(Link &here, Frame &frame, bool is_long)
{
	if (!frame.header.reply && !is_long)
		return;
	if (!frame.header.reply)
		throw Violation("the Call offers no Reply chunk");
	if (!is_long) {
		for (Segment &segment : *frame.header.reply)
			segment.length = 0;
		return;
	}
	Memory memory(*here.connection, frame.payload.size(), Access::none);
	std::copy(frame.payload.begin(), frame.payload.end(), memory.bytes().begin());
	std::size_t at = 0;
	for (Segment &segment : *frame.header.reply) {
		segment.length =
			static_cast<std::uint32_t>(std::min<std::size_t>(segment.length, frame.payload.size() - at));
		transfer(here.connection->write(memory, at, segment.length, segment, patience_.deadline()));
		at += segment.length;
	}
	if (at < frame.payload.size())
		throw Violation("the Reply chunk is too short for the Reply");
	frame.header.type = RDMA_NOMSG;
	frame.payload.clear();
}

void Run::reach(const Words &words)
{
	Link &here = link();
	const bool is_read = words.at(1) == "read";
	if (!here.reverse_call)
		throw ScriptError("no Call in the reverse direction has come");
	const Header &call = here.reverse_call->header;
	if (is_read ? call.reads.empty() : !call.reply || call.reply->empty())
		throw Violation("the Call has offered no such memory");
	const Segment segment = is_read ? call.reads.front().target : call.reply->front();
	expectation_ = text_of(words);
	Memory memory(*here.connection, segment.length, Access::none);
	const Transferred done =
		is_read ? here.connection->read(segment, memory, 0, patience_.deadline()) :
			  here.connection->write_and_confirm(memory, 0, segment.length, segment, patience_.deadline());
	check_reach(done, words.at(2));
}

void Run::transfer(const Transferred &done)
{
	if (!done.ok)
		throw Violation("memory that a Call in the reverse direction offers is out of reach: " + done.status);
}

Bytes Run::stream_of(Link &here, const Decoded &call)
{
	if (call.header.type != RDMA_NOMSG)
		return call.payload;
	Bytes stream;
	for (const ReadSegment &read : call.header.reads) {
		if (read.position != 0)
			throw Violation("a Call in the reverse direction has an item in a Read chunk");
		Memory memory(*here.connection, read.target.length, Access::none);
		transfer(here.connection->read(read.target, memory, 0, patience_.deadline()));
		stream.insert(stream.end(), memory.bytes().begin(), memory.bytes().end());
	}
	return stream;
}

} // namespace peer
