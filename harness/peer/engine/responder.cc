// SPDX-License-Identifier: GPL-2.0-only

#include "engine/responder.hh"

#include <algorithm>

#include "engine/direction.hh"

namespace peer {

namespace {

// More than is granted: a requester that sends too many Calls is to be heard, not cut off by the device. But each connection's
// memory is made and registered while others wait.
constexpr unsigned LEAST_RECEIVES = 64;
constexpr unsigned MOST_RECEIVES = 256;
constexpr unsigned RECEIVES_FOR_A_CREDIT = 4;
// Longer than the threshold that is offered, for the same reasons, but for the largest of thresholds.
constexpr std::size_t SHORTEST_RECEIVE = 16384;
constexpr std::size_t LONGEST_RECEIVE = 65536;
constexpr std::size_t LONGEST_CALL = 4 << 20;

// Writes the part of a stream from @from on into a chunk, as long as both last; the chunk as it is returned.
Chunk place(const Chunk &offered, std::size_t from, std::size_t length, std::vector<Placed> &placed)
{
	Chunk returned;
	for (const Segment &segment : offered) {
		Segment used = segment;
		used.length = static_cast<std::uint32_t>(std::min<std::size_t>(segment.length, length));
		if (used.length > 0)
			placed.push_back({from, used});
		from += used.length;
		length -= used.length;
		returned.push_back(used);
	}
	return returned;
}

Chunk unused(Chunk chunk)
{
	for (Segment &segment : chunk)
		segment.length = 0;
	return chunk;
}

} // namespace

Acceptance usual_acceptance() noexcept
{
	return {.private_data = PrivateData{.send_size = 4096, .receive_size = 4096, .remote_invalidation = false},
		.raw_private_data = {}};
}

Responder::Responder(const std::string &host, std::uint16_t port, Service &service)
	: listener_(host, port)
	, service_(service)
{
}

Responder::~Responder() = default;

bool Responder::serve_until(const std::function<bool()> &done, Deadline deadline)
{
	for (;;) {
		// Everything that has come is taken before anything is waited for.
		bool something = false;
		if (auto request = listener_.wait(Clock::now())) {
			take(std::move(*request));
			something = true;
		}
		std::vector<std::uint64_t> numbers;
		for (const auto &[number, association] : connections_)
			numbers.push_back(number);
		for (const std::uint64_t number : numbers) {
			if (done())
				return true;
			Connection *const there = connection(number);
			if (!there)
				continue;
			const Event event = there->receive(Clock::now());
			if (const auto *const message = std::get_if<Message>(&event))
				take(number, *message);
			else if (const auto *const end = std::get_if<Closed>(&event))
				forget(number, *end);
			else
				continue;
			something = true;
		}
		if (done())
			return true;
		if (Clock::now() >= deadline)
			return false;
		if (something)
			continue;
		std::vector<int> descriptors = {listener_.descriptor()};
		for (const auto &[number, association] : connections_)
			for (const int descriptor : association.connection->descriptors())
				descriptors.push_back(descriptor);
		wait_for_any(descriptors, deadline);
	}
}

void Responder::take(Request request)
{
	if (take_request && take_request(request))
		return;
	// Others are served while the requester makes up its mind.
	accept(std::move(request), acceptance, Until::accepted);
}

std::optional<std::uint64_t> Responder::accept(Request request, const Acceptance &how)
{
	return accept(std::move(request), how, Until::established);
}

std::optional<std::uint64_t> Responder::accept(Request request, const Acceptance &how, Until until)
{
	ConnectionSettings settings;
	if (how.private_data)
		settings.private_data = encode(*how.private_data);
	if (how.raw_private_data)
		settings.private_data = *how.raw_private_data;
	settings.initiator_depth = how.reads;
	last_private_data_ = request.private_data();
	const PrivateData its = find_private_data(last_private_data_).value_or(PrivateData{});
	const PrivateData mine = find_private_data(settings.private_data).value_or(PrivateData{});
	settings.receives = static_cast<unsigned>(std::clamp<std::uint64_t>(
		std::uint64_t{how.credits} * RECEIVES_FOR_A_CREDIT, LEAST_RECEIVES, MOST_RECEIVES));
	settings.receive_size =
		std::clamp<std::size_t>(std::size_t{mine.receive_size} * 2, SHORTEST_RECEIVE, LONGEST_RECEIVE);
	const std::uint64_t number = next_;
	try {
		Connection connection = until == Until::accepted ?
						std::move(request).accept(settings) :
						std::move(request).accept(settings, patience_.deadline());
		connections_[number] = {.connection = std::make_unique<Connection>(std::move(connection)),
					.agreement = {.call_threshold = std::min(its.send_size, mine.receive_size),
						      .reply_threshold = std::min(mine.send_size, its.receive_size),
						      .remote_invalidation = its.remote_invalidation &&
									     mine.remote_invalidation},
					.credits = how.credits,
					.outstanding = {}};
	} catch (const VerbsError &error) {
		if (trace)
			trace(number, std::string("the connection did not come about: ") + error.what());
		return std::nullopt;
	}
	next_++;
	if (trace)
		trace(number, "accepted");
	return number;
}

void Responder::forget(std::uint64_t number, const Closed &end)
{
	if (trace)
		trace(number, "<- closed: " + end.reason);
	service_.forget(number);
	if (closed && end.was_established)
		closed(number, end);
	connections_.erase(number);
}

void Responder::take(std::uint64_t number, const Message &message)
{
	if (trace)
		trace(number, "<- " + describe_message(message.bytes));
	if (exchanged)
		exchanged(number, false, message.bytes, message.invalidated);
	if (refuse_version(number, message))
		return;
	Decoded decoded;
	try {
		decoded = decode(message.bytes);
	} catch (const Malformed &malformed) {
		blame(number, std::string("what it sent cannot be decoded: ") + malformed.what());
		if (!refuse_malformed(number, message) && take_other)
			take_other(number, message);
		return;
	}
	judge_type(number, decoded.header);
	if (const auto fault = direction_fault(decoded))
		blame(number, *fault);
	if (answer_option(number, decoded) || refuse_message(number, decoded))
		return;
	if (speaks(decoded.header.version) && is_call_message(decoded))
		take_call_message(number, message, decoded);
	else if (take_other)
		take_other(number, message);
}

void Responder::take_call_message(std::uint64_t number, const Message &message, const Decoded &decoded)
{
	judge(number, decoded, message.bytes.size());
	if (!connections_.contains(number))
		return;
	auto stream = assemble(number, decoded);
	if (!stream)
		return;
	ArrivedCall call;
	call.connection = number;
	call.message = decoded;
	call.message_length = message.bytes.size();
	call.stream = std::move(*stream);
	// In version 1 it is carried out all the same: whoever drives the responder has the word.
	if (!judge_stream(number, call) && decoded.header.version == VERSION_2)
		return refuse(number, decoded.header, ERR_BAD_HEADER);
	try {
		call.served = service_.serve(call.stream, number);
	} catch (const Malformed &malformed) {
		blame(number, std::string("its RPC message cannot be decoded: ") + malformed.what());
		if (decoded.header.version == VERSION_2)
			refuse(number, decoded.header, ERR_BAD_HEADER);
		return;
	}
	if (take_call && take_call(call))
		return;
	send(number, plan(call));
}

void Responder::judge_type(std::uint64_t number, const Header &header)
{
	if (header.type == RDMA_MSGP || header.type == RDMA_DONE)
		blame(number, "it sends " + describe(header) + " (bis-04, 5.6)");
	const bool has_call = std::any_of(header.reads.begin(), header.reads.end(),
					  [](const ReadSegment &read) { return read.position == 0; });
	if (header.type == RDMA_NOMSG && !has_call && !header.reply)
		blame(number, "an RDMA_NOMSG has neither a Position Zero Read chunk nor a Reply chunk (bis-04, 5.2.4)");
}

void Responder::blame(std::uint64_t number, const std::string &what) const
{
	if (violated)
		violated(number, what);
}

// A connection may end for good reasons while something is on its way; memory that is refused was never offered rightly.
void Responder::blame_transfer(std::uint64_t number, const std::string &what, const Transferred &failed) const
{
	if (failed.is_refused())
		blame(number, what + failed.status);
	else if (trace)
		trace(number, what + failed.status);
}

// What a requester has to keep to whatever it calls for.
void Responder::judge(std::uint64_t number, const Decoded &message, std::size_t length)
{
	Association &association = connections_.at(number);
	const Header &header = message.header;
	const std::size_t threshold = in_version(association.agreement, header.version).call_threshold;
	if (length > threshold)
		blame(number, "a message of " + std::to_string(length) + " bytes is above the inline threshold of " +
				      std::to_string(threshold) + " (RFC 8166, 3.3.2)");
	association.asked = header.credits;
	association.outstanding.insert(header.xid);
	if (association.outstanding.size() > association.allowed)
		blame(number, std::to_string(association.outstanding.size()) + " Calls are outstanding where " +
				      std::to_string(association.allowed) + " may be (RFC 8166, 3.3.1)");
	if (header.type == RDMA_NOMSG && !message.payload.empty())
		blame(number, "there are bytes behind the header of an RDMA_NOMSG");
	judge_reads(number, message);
}

void Responder::judge_reads(std::uint64_t number, const Decoded &message)
{
	for (const ReadSegment &read : message.header.reads) {
		if (read.position % 4 != 0)
			blame(number, "a Read chunk is at Position " + std::to_string(read.position) +
					      ", which is no multiple of four (RFC 8166, 3.4.5)");
		if (read.position == 0 && message.header.type != RDMA_NOMSG)
			blame(number, "an RDMA_MSG has a Position Zero Read chunk (RFC 8166, 3.5.3)");
	}
}

// RFC 8166, 3.4.5: what Read chunks hold goes to their Positions in the stream.
std::optional<Bytes> Responder::assemble(std::uint64_t number, const Decoded &message)
{
	Connection &there = *connections_.at(number).connection;
	std::map<std::uint32_t, Bytes> chunks;
	std::size_t total = 0;
	for (const ReadSegment &read : message.header.reads) {
		total += read.target.length;
		if (total > LONGEST_CALL) {
			blame(number, "a Call is longer than 4 MiB");
			return std::nullopt;
		}
		if (read.target.length == 0)
			continue;
		Memory memory(there, read.target.length, Access::none);
		const Transferred pulled = there.read(read.target, memory, 0, patience_.deadline());
		if (!pulled.ok) {
			blame_transfer(number, "memory that a Call offers cannot be read: ", pulled);
			return std::nullopt;
		}
		Bytes &chunk = chunks[read.position];
		chunk.insert(chunk.end(), memory.bytes().begin(), memory.bytes().end());
	}
	Bytes stream = message.payload;
	if (const auto whole = chunks.find(0); whole != chunks.end()) {
		if (whole->second.size() % 4 != 0)
			blame(number, "a Position Zero Read chunk of " + std::to_string(whole->second.size()) +
					      " bytes lacks the stream's padding (RFC 8166, 3.5.3)");
		stream = std::move(whole->second);
		chunks.erase(whole);
	}
	for (auto &[position, chunk] : chunks) {
		if (position > stream.size()) {
			blame(number,
			      "a Read chunk is at Position " + std::to_string(position) + ", behind the stream's end");
			return std::nullopt;
		}
		chunk.resize(chunk.size() + roundup_of(chunk.size()));
		stream.insert(stream.begin() + position, chunk.begin(), chunk.end());
	}
	return stream;
}

bool Responder::judge_stream(std::uint64_t number, const ArrivedCall &call)
{
	try {
		XdrReader xdr(call.stream);
		const CallHeader rpc = read_call(xdr);
		if (rpc.xid == call.message.header.xid)
			return true;
		blame(number, "the RPC message has another XID than its header (bis-04, 5.2.1)");
	} catch (const Malformed &malformed) {
		blame(number, std::string("its RPC message is no Call: ") + malformed.what());
	}
	return false;
}

Answer Responder::plan(const ArrivedCall &call, bool prefer_long)
{
	const Association &association = connections_.at(call.connection);
	const Header &asked = call.message.header;
	const Payload &whole = call.served.reply;
	Answer answer = {.frame = {}, .placed = {}, .stream = whole.stream};
	Header &header = answer.frame.header;
	header.xid = asked.xid;
	header.version = asked.version;
	header.credits = association.credits;
	header.direction = DIRECTION_REPLY;

	// Each item goes to the Write chunk that stands in its place (RFC 8166, 3.4.6; RFC 8267).
	std::vector<Item> reduced;
	for (std::size_t i = 0; i < asked.writes.size(); i++) {
		const Chunk &offered = asked.writes[i];
		if (i < whole.items.size() && !offered.empty() && whole.items[i].length <= length_of(offered)) {
			header.writes.push_back(
				place(offered, whole.items[i].offset, whole.items[i].length, answer.placed));
			reduced.push_back(whole.items[i]);
		} else {
			header.writes.push_back(unused(offered));
		}
	}
	Bytes rest = whole.stream;
	for (std::size_t i = reduced.size(); i-- > 0;) {
		const auto first = rest.begin() + static_cast<std::ptrdiff_t>(reduced[i].offset);
		rest.erase(first,
			   first + static_cast<std::ptrdiff_t>(reduced[i].length + roundup_of(reduced[i].length)));
	}
	if (asked.reply)
		header.reply = unused(*asked.reply);
	const bool fits = encode(header).size() + rest.size() <=
			  in_version(association.agreement, asked.version).reply_threshold;
	if (fits && !(prefer_long && asked.reply)) {
		answer.frame.payload = rest;
		return answer;
	}
	if (!asked.reply || length_of(*asked.reply) < rest.size()) {
		answer.frame.header = {.xid = asked.xid,
				       .version = asked.version,
				       .credits = association.credits,
				       .type = RDMA_ERROR,
				       .reads = {},
				       .writes = {},
				       .reply = {},
				       .error = ERR_CHUNK};
		answer.placed.clear();
		return answer;
	}
	header.type = RDMA_NOMSG;
	// What is placed refers to one stream: the reduced one follows the whole one.
	answer.reply_from = answer.stream.size();
	answer.stream.insert(answer.stream.end(), rest.begin(), rest.end());
	header.reply = place(*asked.reply, answer.reply_from, rest.size(), answer.placed);
	return answer;
}

// Its XID is none of a Call's, whatever it is.
bool Responder::answer_option(std::uint64_t number, const Decoded &message)
{
	const auto answer = answer_to_option(message, features);
	if (!answer)
		return false;
	Frame frame;
	frame.header = *answer;
	frame.header.credits = connections_.at(number).credits;
	send_beside(number, frame);
	return true;
}

bool Responder::send(std::uint64_t number, const Answer &answer, bool with_data)
{
	Connection *const there = connection(number);
	if (!there)
		return false;
	if (with_data && !answer.placed.empty()) {
		Memory memory(*there, answer.stream.size(), Access::none);
		std::copy(answer.stream.begin(), answer.stream.end(), memory.bytes().begin());
		for (const Placed &part : answer.placed) {
			const Transferred done =
				there->write(memory, part.from, part.to.length, part.to, patience_.deadline());
			if (!done.ok) {
				blame_transfer(number, "memory that a Call offers cannot be written: ", done);
				return false;
			}
		}
	}
	return send(number, answer.frame);
}

bool Responder::send(std::uint64_t number, const Frame &frame)
{
	const auto found = connections_.find(number);
	if (found == connections_.end())
		return false;
	// Before it goes out: the next Call may be here before its completion is.
	count_reply(found->second, frame.header);
	return send_beside(number, frame);
}

// One Call before the first Reply on a connection (RFC 8166, 3.3.3), then the lower of what was asked for and what the
// last Reply grants (3.3.1); a grant that shrinks takes nothing back that is under way.
void Responder::count_reply(Association &association, const Header &reply)
{
	association.outstanding.erase(reply.xid);
	const bool is_known = reply.version == VERSION_1 || reply.version == VERSION_2;
	const bool is_reply = reply.type == RDMA_MSG || reply.type == RDMA_NOMSG;
	// A requester may take its credits for a grant or not: they raise what is allowed, and lower nothing.
	const bool is_error = reply.version == VERSION_2 && reply.type == RDMA_ERROR;
	if (!is_known || (!is_reply && !is_error))
		return;
	std::size_t granted = std::max(1U, std::min(reply.credits, association.asked));
	if (is_error)
		granted = std::max(granted, association.allowed);
	association.allowed = std::max(granted, association.outstanding.size());
}

bool Responder::send_beside(std::uint64_t number, const Frame &frame)
{
	const auto found = connections_.find(number);
	if (found == connections_.end())
		return false;
	Association &association = found->second;
	const Bytes message = frame.bytes();
	if (trace)
		trace(number, "-> " + describe_message(message));
	if (exchanged)
		exchanged(number, true, message, frame.invalidate);
	const Transferred sent = association.connection->send(message, frame.invalidate, patience_.deadline());
	if (!sent.ok && trace)
		trace(number, "   which failed: " + sent.status);
	return !sent.inconclusive;
}

bool Responder::awaits_reply(const ArrivedCall &call) const
{
	const auto found = connections_.find(call.connection);
	return found != connections_.end() && found->second.outstanding.contains(call.message.header.xid);
}

Connection *Responder::connection(std::uint64_t number)
{
	const auto found = connections_.find(number);
	return found == connections_.end() ? nullptr : found->second.connection.get();
}

const Agreement *Responder::agreement(std::uint64_t number) const
{
	const auto found = connections_.find(number);
	return found == connections_.end() ? nullptr : &found->second.agreement;
}

void Responder::end(std::uint64_t number, bool in_order)
{
	Connection *const there = connection(number);
	if (!there)
		return;
	if (in_order)
		there->disconnect();
	else
		there->vanish();
	if (trace)
		trace(number, in_order ? "-> disconnect" : "-> (vanishes)");
	service_.forget(number);
	connections_.erase(number);
}

void Responder::end_all()
{
	while (!connections_.empty())
		end(connections_.begin()->first, true);
}

} // namespace peer
