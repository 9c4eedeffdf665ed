// SPDX-License-Identifier: GPL-2.0-only

#include "suite/client_suite.hh"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "engine/responder.hh"
#include "suite/client_script.hh"
#include "suite/export.hh"
#include "suite/words.hh"

namespace peer {

namespace {

constexpr std::size_t SOURCE_SIZE = 1024 * 1024;
constexpr std::size_t DATA_SIZE = 256 * 1024;
constexpr std::size_t LINK_LENGTH = 900; // where a case does not say another
constexpr unsigned LONGEST_LIST = 10000;
// How often somebody looks whether the client's command still runs.
constexpr std::chrono::milliseconds LOOK_AROUND{500};

// What a case needs of the client to tell anything is not so.
class Unable : public std::runtime_error {
	using runtime_error::runtime_error;
};

// There is nobody left to wait for.
class ClientEnded : public Violation {
	using Violation::Violation;
};

// What POSIX's cksum prints for these bytes, without their number.
std::uint32_t posix_cksum(ByteView bytes)
{
	std::uint32_t sum = 0;
	const auto shift_in = [&sum](std::uint8_t byte) {
		sum ^= std::uint32_t{byte} << 24;
		for (int bit = 0; bit < 8; bit++)
			sum = sum & 0x80000000 ? sum << 1 ^ 0x04c11db7 : sum << 1;
	};
	for (const std::uint8_t byte : bytes)
		shift_in(byte);
	for (std::size_t length = bytes.size(); length > 0; length >>= 8)
		shift_in(static_cast<std::uint8_t>(length));
	return ~sum;
}

// A line as readlink prints it.
Bytes line_of(char letter, std::size_t length)
{
	Bytes line(length, static_cast<std::uint8_t>(letter));
	line.push_back('\n');
	return line;
}

// As many entries that allow everybody everything, as the script sets them: "A::EVERYONE@:...".
Bytes acl_of(std::size_t entries)
{
	XdrWriter xdr;
	xdr.u32(static_cast<std::uint32_t>(entries));
	for (std::size_t i = 0; i < entries; i++) {
		xdr.u32(0);
		xdr.u32(0);
		xdr.u32(0x1601ff);
		xdr.string("EVERYONE@");
	}
	return xdr.take();
}

// One run of a case: with one value of its variable.
struct Instance {
	const Case *test = nullptr;
	std::uint64_t value = 0;
	std::string name; // of its directory below cases/, and of its result

	[[nodiscard]] std::size_t size() const
	{
		if (test->operation.size() < 2)
			return 0;
		return test->operation[1] == test->variable ? value : evaluate(test->operation[1], {});
	}

	[[nodiscard]] std::size_t link_length() const { return size() > 0 ? size() : LINK_LENGTH; }
};

std::vector<Instance> instances_of(const std::vector<Case> &cases)
{
	std::vector<Instance> instances;
	for (const Case &test : cases) {
		if (test.operation.empty())
			throw ScriptError(test.name + ": a case for clients has a line \"client OPERATION [SIZE]\"");
		for (const std::uint64_t value : test.values) {
			std::string name = test.name.substr(test.name.find('/') + 1);
			if (!test.variable.empty())
				name += "." + std::to_string(value);
			instances.push_back({&test, value, name});
		}
	}
	return instances;
}

// What the client printed and how its operation ended.
struct ClientResult {
	int status = 0;
	std::string read;
	std::string good;
	std::string output;

	[[nodiscard]] std::string described() const
	{
		return "status " + std::to_string(status) + (output.empty() ? "" : ", " + output);
	}
};

// Nothing while the client writes it.
std::optional<ClientResult> parse_result(const Bytes &content)
{
	const std::string text(content.begin(), content.end());
	const std::string_view end = "\nend\n";
	if (!text.ends_with(end))
		return std::nullopt;
	std::istringstream in(text.substr(0, text.size() - end.size()));
	ClientResult result;
	std::string line;
	std::getline(in, line);
	result.status = std::atoi(line.c_str());
	for (std::string *const sum : {&result.read, &result.good}) {
		std::getline(in, line);
		*sum = line.substr(0, line.rfind(' ')); // without the name
	}
	while (std::getline(in, line))
		result.output += (result.output.empty() ? "" : "\n") + line;
	return result;
}

// A file tree with everything that the script and the cases need.
void furnish(Tree &tree, const std::vector<Instance> &instances)
{
	const auto bytes = [](const std::string &text) { return Bytes(text.begin(), text.end()); };
	tree.put("run", Bytes(client_script().begin(), client_script().end())).mode = 0755;
	tree.put("source", pattern(0, SOURCE_SIZE, 1));
	tree.put("good", pattern(0, 8192, 2));
	tree.put_directory("results");
	std::map<std::string, std::string> lists;
	for (const Instance &instance : instances) {
		const std::string directory = "cases/" + instance.name + "/";
		const std::string &operation = instance.test->operation[0];
		tree.put(directory + "data", pattern(0, std::max(DATA_SIZE, instance.size()), 3));
		if (operation == "write")
			tree.put(directory + "new", Bytes(instance.size()));
		if (operation == "rename")
			tree.put(directory + "old", Bytes());
		if (operation == "readlink" || operation == "killed")
			tree.put_link(directory + "link", std::string(instance.link_length(), 'l'));
		if (operation == "list")
			for (std::size_t i = 0; i < std::min<std::size_t>(instance.size(), LONGEST_LIST); i++)
				tree.put(directory + "directory/a-name-that-takes-some-room-" + std::to_string(i),
					 Bytes());
		lists[instance.test->version] +=
			instance.name + " " + operation + " " + std::to_string(instance.size()) + "\n";
	}
	for (const char *const version : {"3", "4.1"})
		tree.put(std::string("list.") + version, bytes(lists[version]));
}

class Suite {
    public:
	Suite(const std::vector<Case> &cases, const ListenSettings &settings, const ClientHooks &hooks)
		: settings_(settings)
		, hooks_(hooks)
		, instances_(instances_of(cases))
		, service_(tree_)
		, mount_daemon_(settings.host, settings.mount_port)
		, responder_(settings.host, settings.port, service_)
	{
		furnish(tree_, instances_);
		responder_.patience() = settings.patience;
		responder_.take_call = [this](ArrivedCall &call) { return take_call(call); };
		responder_.take_request = [this](Request &request) { return take_request(request); };
		responder_.take_other = [this](std::uint64_t connection, const Message &message) {
			others_.emplace_back(connection, message);
		};
		responder_.violated = [this](std::uint64_t, const std::string &what) { violations_.push_back(what); };
		responder_.trace = [this](std::uint64_t connection, const std::string &line) {
			if (trace_)
				trace_->push_back(std::to_string(connection) + ": " + line);
		};
		responder_.closed = [this](std::uint64_t connection, const Closed &) {
			ended_.push_back(connection);
			if (connection == memory_connection_)
				memory_.clear();
		};
	}

	Tree &tree() { return tree_; }
	Responder &responder() { return responder_; }
	const std::vector<Instance> &instances() const { return instances_; }

	// Runs one instance; the result's outcome is that of it alone.
	void run(const Instance &instance, Deadline begin, CaseResult &result)
	{
		instance_ = &instance;
		trace_ = &result.trace;
		trace_->clear();
		violations_.clear();
		others_.clear();
		ended_.clear();
		held_.reset();
		held_beside_.clear();
		held_request_.reset();
		client_.reset();
		noted_.clear();
		patience_ = {};
		awaited_operation_.clear();
		expectation_ = "the client's operation";
		begin_ = begin;
		responder_.acceptance = usual_acceptance();
		const std::string which =
			instance.test->variable.empty() ?
				"" :
				instance.test->variable.substr(1) + " = " + std::to_string(instance.value) + ": ";
		try {
			for (const Step &step : instance.test->steps_for(instance.value))
				take(step);
			conclude();
			result.came = "the same";
		} catch (const ScriptError &) {
			throw;
		} catch (const ClientEnded &) {
			throw;
		} catch (const Unable &error) {
			result.outcome = Outcome::skipped;
			result.came = which + error.what();
			result.in_order = recover();
		} catch (const std::runtime_error &error) {
			result.outcome = Outcome::failed;
			result.came = which + "instead of " + expectation_ + ": " + error.what();
			result.in_order = recover();
		}
		trace_ = nullptr;
		instance_ = nullptr;
	}

    private:
	// What the steps are about

	static bool is_of(const Instance &instance, const ArrivedCall &call)
	{
		const std::string directory = "/cases/" + instance.name;
		return call.served.path == directory || call.served.path.starts_with(directory + "/");
	}

	bool is_of_case(const ArrivedCall &call) const { return is_of(*instance_, call); }

	bool is_of_later_case(const ArrivedCall &call) const
	{
		const auto later = instances_.begin() + (instance_ - instances_.data()) + 1;
		return std::any_of(later, instances_.end(),
				   [&](const Instance &instance) { return is_of(instance, call); });
	}

	bool take_call(ArrivedCall &call)
	{
		// While "serve" lasts, a quick client may have gone on already: its next case has not begun here.
		if (instance_ && is_of_later_case(call)) {
			early_.push_back(std::move(call));
			return true;
		}
		if (!instance_ || awaited_operation_ != call.served.operation ||
		    !(is_of_case(call) || awaits_any_file_) || held_count() == awaited_calls_)
			return false;
		if (held_)
			held_beside_.push_back(std::move(call));
		else
			held_ = std::move(call);
		return true;
	}

	std::size_t held_count() const { return held_ ? 1 + held_beside_.size() : 0; }

	bool take_request(Request &request)
	{
		if (!awaits_request_ || held_request_)
			return false;
		held_request_.emplace(std::move(request));
		return true;
	}

	Names names()
	{
		return {.value = [this](const std::string &name) -> std::optional<std::uint64_t> {
				if (const auto noted = noted_.find(name); noted != noted_.end())
					return noted->second;
				if (!held_)
					return std::nullopt;
				if (name == "xid")
					return held_->message.header.xid;
				if (const Agreement *const agreement = responder_.agreement(held_->connection)) {
					if (name == "call_threshold")
						return agreement->call_threshold;
					if (name == "reply_threshold")
						return agreement->reply_threshold;
				}
				if (name == "message")
					return last_.bytes().size();
				if (const ArrivedCall *const call = named_call(name))
					return field_of(*call, name.substr(name.find('.') + 1));
				return std::nullopt;
			},
			.memory = [this](const std::string &name) { return memory(name); }};
	}

	// "call.FIELD" is of the held Call, "other.FIELD" of the next one of several.
	const ArrivedCall *named_call(const std::string &name) const
	{
		if (held_ && name.starts_with("call."))
			return &*held_;
		if (!held_beside_.empty() && name.starts_with("other."))
			return &held_beside_.front();
		return nullptr;
	}

	static std::optional<std::uint64_t> field_of(const ArrivedCall &call, const std::string &name)
	{
		if (name == "connection")
			return call.connection;
		if (name == "length")
			return call.message_length;
		if (name == "read.length")
			return length_of_reads(call.message.header);
		if (name == "read.length%4")
			return length_of_reads(call.message.header) % 4;
		return field_or_remainder(call.message.header, name);
	}

	// "read[0].position%4" is what a division by four leaves.
	static std::optional<std::uint64_t> field_or_remainder(const Header &header, const std::string &name)
	{
		if (!name.ends_with("%4"))
			return field(header, name);
		const auto value = field(header, name.substr(0, name.size() - 2));
		return value ? std::optional(*value % 4) : std::nullopt;
	}

	// Memory that a case has offered, or a segment that a held Call has: "call.write[0][1]".
	std::optional<Segment> memory(const std::string &name)
	{
		if (const auto mine = memory_.find(name); mine != memory_.end())
			return mine->second.segment();
		if (const auto mine = remembered_.find(name); mine != remembered_.end())
			return mine->second;
		const ArrivedCall *const call = named_call(name);
		if (!call)
			return std::nullopt;
		const std::string segment = name.substr(name.find('.') + 1);
		const auto handle = field(call->message.header, segment + ".handle");
		const auto offset = field(call->message.header, segment + ".offset");
		const auto length = field(call->message.header, segment + ".length");
		if (!handle || !offset || !length)
			return std::nullopt;
		return Segment{static_cast<std::uint32_t>(*handle), static_cast<std::uint32_t>(*length), *offset};
	}

	// Steps

	void take(const Step &step)
	{
		try {
			perform(step);
		} catch (const ScriptError &error) {
			// What a step changes may be something that this client's Calls do not have.
			if (held_)
				throw Violation(error.what());
			throw ScriptError(instance_->test->name + ":" + std::to_string(step.line.number) + ": " +
					  error.what());
		} catch (const std::out_of_range &) {
			throw ScriptError(instance_->test->name + ":" + std::to_string(step.line.number) +
					  ": a word is missing");
		}
	}

	void perform(const Step &step)
	{
		const Words &words = step.line.words;
		const std::string &verb = words[0];
		if (verb == "on")
			await(words);
		else if (verb == "answer")
			answer(step);
		else if (verb == "accept")
			accept(words);
		else if (verb == "reject")
			reject(words);
		else if (verb == "ignore")
			request().ignore();
		else if (verb == "serve")
			serve_for(std::chrono::milliseconds(evaluate(words.at(1), {})));
		else if (verb == "grant")
			grant(words);
		else if (verb == "memory")
			make_memory(words);
		else if (verb == "remember")
			remembered_[words.at(1)] = evaluate_segment(words.at(2), names());
		else if (verb == "note")
			noted_[words.at(1)] = evaluate(words.at(2), names());
		else if (verb == "patience")
			patience_ = std::chrono::seconds(evaluate(words.at(1), {}));
		else if (verb == "need")
			need(step);
		else if (verb == "send")
			send(step);
		else if (verb == "keep")
			keep_outstanding(step);
		else if (verb == "reach")
			reach(words);
		else if (verb == "close" || verb == "vanish")
			end(verb == "close");
		else if (verb == "expect")
			expect(step);
		else
			throw ScriptError("'" + verb + "' is no step of a case for clients");
	}

	// The connection that the case is about: that of the Call that was held last, or the newest.
	std::uint64_t current() const { return held_ ? held_->connection : responder_.accepted(); }

	Connection &connection()
	{
		Connection *const there = responder_.connection(current());
		if (!there)
			throw Violation("there is no connection");
		return *there;
	}

	Deadline deadline() const
	{
		return std::max({settings_.patience.deadline(), Clock::now() + patience_, begin_});
	}

	// What came before this case began, and is of it.
	void take_early()
	{
		for (ArrivedCall &call : std::exchange(early_, {}))
			if (!take_call(call) && responder_.awaits_reply(call))
				responder_.send(call.connection, responder_.plan(call));
	}

	void serve_until(const std::function<bool()> &done, const std::string &awaited)
	{
		take_early();
		const Deadline end = deadline();
		while (!responder_.serve_until(done, std::min(end, Clock::now() + LOOK_AROUND))) {
			if (hooks_.ended())
				throw ClientEnded("the client's command ended while " + awaited + " was waited for");
			if (Clock::now() >= end)
				throw Violation(awaited + " did not come");
		}
	}

	// serve MILLISECONDS: for what shall not come, which nothing tells
	void serve_for(Clock::duration time)
	{
		responder_.serve_until([] { return false; }, Clock::now() + time);
	}

	// on OPERATION [times N] [beside] [anywhere]   holds the next Calls of that operation on a file of the case
	// on connect                                   holds the next connection request
	void await(const Words &words)
	{
		if (words.at(1) == "connect")
			return await_request();
		expectation_ = "a Call to " + words[1];
		const std::size_t times = number_behind(words, "times", 1, names());
		if (!contains(words, "beside")) {
			held_.reset();
			held_beside_.clear();
		}
		awaited_operation_ = words[1];
		awaited_calls_ = held_count() + times;
		awaits_any_file_ = contains(words, "anywhere");
		serve_until([this] { return held_count() == awaited_calls_ || has_result(); }, "a Call to " + words[1]);
		if (held_count() < awaited_calls_)
			throw Violation("the client's operation ended without it: " + client_result().described());
		awaited_operation_.clear();
		// What ended before the client came to this case is not of this case: the last mount's connection, above all.
		if (begin_ != Deadline{})
			ended_.clear();
		begin_ = {};
	}

	void await_request()
	{
		expectation_ = "a connection request";
		awaits_request_ = true;
		serve_until([this] { return held_request_.has_value(); }, "a connection request");
		awaits_request_ = false;
	}

	// need answer: what was sent last is such a message; need call: what is held is such a Call; need private: the client
	// says so of itself; need connection: it has not closed it. Other clients may do the same in another way, which the case
	// can say nothing about.
	void need(const Step &step)
	{
		const std::string &what = step.line.words.at(1);
		if (what == "private")
			return need_private(step);
		if (what == "connection")
			return need_connection();
		const bool of_answer = what == "answer";
		if (!of_answer && what != "call")
			throw ScriptError("a case needs things of an answer, a call or private data, or a connection");
		const auto fields = [&](const std::string &name) {
			if (!of_answer)
				return field_of(held(), name);
			return name == "length" ? std::optional<std::uint64_t>(last_.bytes().size()) :
						  field(last_.header, name);
		};
		for (const Line &line : step.block)
			if (const auto wrong = check(line, {.value = fields, .memory = {}}, names()))
				throw Unable("the case needs something else: " + *wrong);
	}

	void need_private(const Step &step)
	{
		try {
			check_private(step);
		} catch (const Violation &wrong) {
			throw Unable(std::string("the case needs something else: ") + wrong.what());
		}
	}

	void need_connection()
	{
		static_cast<void>(client_result());
		serve_for({});
		if (!ended_.empty())
			throw Unable("the client has closed the connection");
	}

	void check_private(const Step &step)
	{
		check_private_data(held_request_ ? held_request_->private_data() : responder_.last_private_data(),
				   step.block, names());
	}

	ArrivedCall &held()
	{
		if (!held_)
			throw ScriptError("no Call is held: \"on OPERATION\" holds one");
		return *held_;
	}

	Request request()
	{
		if (!held_request_)
			throw ScriptError("no connection request is held: \"on connect\" holds one");
		Request taken = std::move(*held_request_);
		held_request_.reset();
		return taken;
	}

	// answer [long] [without data]      the Reply that belongs to the held Call
	// answer error CHUNK | VERS L H     an RDMA_ERROR
	// answer again                      what was answered last
	// answer others                     those that are held beside it, as they should be
	// answer nothing
	void answer(const Step &step)
	{
		const Words &words = step.line.words;
		const std::string what = words.size() > 1 ? words[1] : "";
		if (what == "nothing")
			return;
		static_cast<void>(connection());
		if (what == "again")
			return expect_sent(responder_.send(current(), last_));
		if (what == "others") {
			for (const ArrivedCall &call : std::exchange(held_beside_, {}))
				if (responder_.connection(call.connection))
					expect_sent(responder_.send(call.connection, responder_.plan(call)));
			return;
		}
		Answer answer = responder_.plan(held(), what == "long");
		if (what == "error") {
			Header &header = answer.frame.header;
			header.type = RDMA_ERROR;
			header.error = static_cast<std::uint32_t>(evaluate(words.at(2), {}));
			if (words.size() > 4) {
				header.version_low = static_cast<std::uint32_t>(evaluate(words[3], {}));
				header.version_high = static_cast<std::uint32_t>(evaluate(words[4], {}));
			}
			answer.frame.payload.clear();
			answer.placed.clear();
		}
		for (const Line &line : step.block) {
			last_ = answer.frame;
			if (line.words[0].starts_with("stream["))
				change_stream(answer, line.words);
			else
				apply(answer.frame, line, names());
		}
		last_ = answer.frame;
		expect_sent(responder_.send(held_->connection, answer, !contains(words, "without")));
	}

	// A message that has not gone out proves nothing.
	static void expect_sent(bool sent)
	{
		if (!sent)
			throw Violation("the message did not go out");
	}

	static std::uint32_t number(const Words &words, const char *word, std::uint64_t usual)
	{
		return static_cast<std::uint32_t>(number_behind(words, word, usual));
	}

	// stream[n] of what is sent by RDMA Write to the Reply chunk
	static void change_stream(Answer &answer, const Words &words)
	{
		if (answer.frame.header.type != RDMA_NOMSG || !answer.frame.header.reply)
			throw ScriptError("stream[n] is about Replies in a Reply chunk; payload[n] is of the others");
		const std::size_t index = evaluate(words.at(0).substr(7, words[0].find(']') - 7), {});
		Bytes word(answer.stream.begin() + static_cast<std::ptrdiff_t>(answer.reply_from + 4 * index),
			   answer.stream.begin() + static_cast<std::ptrdiff_t>(answer.reply_from + 4 * index + 4));
		change_word(word, 0, words.at(1), evaluate(words.at(2), {}));
		std::copy(word.begin(), word.end(),
			  answer.stream.begin() + static_cast<std::ptrdiff_t>(answer.reply_from + 4 * index));
	}

	// accept [private HEX [offset N] [length N] | silent] [send BYTES] [receive BYTES] [invalidation] [reads N]
	//        [credits N]
	void accept(const Words &words)
	{
		Acceptance how = usual_acceptance();
		how.private_data->send_size = number(words, "send", how.private_data->send_size);
		how.private_data->receive_size = number(words, "receive", how.private_data->receive_size);
		how.private_data->remote_invalidation = contains(words, "invalidation");
		if (contains(words, "silent"))
			how.private_data.reset();
		if (contains(words, "private"))
			how.raw_private_data = private_data_of(words);
		how.reads = number(words, "reads", how.reads);
		how.credits = number(words, "credits", how.credits);
		responder_.accept(request(), how);
		// Those that follow within the case are accepted as usual again; it is not there for the next case.
		is_unusual_ = true;
	}

	void grant(const Words &words)
	{
		responder_.acceptance.credits = static_cast<std::uint32_t>(evaluate(words.at(1), {}));
		is_unusual_ = true;
	}

	void reject(const Words &words) { request().reject(private_data_of(words)); }

	// memory NAME SIZE read|write|read-write
	void make_memory(const Words &words)
	{
		static const std::map<std::string, Access> ACCESS = {
			{"read", Access::read}, {"write", Access::write}, {"read-write", Access::read_write}};
		keep(words.at(1), Memory(connection(), evaluate(words.at(2), {}), ACCESS.at(words.at(3))));
	}

	// Memory is the case's for as long as the connection lasts that it is registered with.
	void keep(const std::string &name, Memory memory)
	{
		if (std::exchange(memory_connection_, current()) != current())
			memory_.clear();
		memory_.insert_or_assign(name, std::move(memory));
	}

	void end(bool in_order)
	{
		memory_.clear();
		responder_.end(current(), in_order);
	}

	// send call null|sequence|recalls N    a Call in the reverse direction; with N CB_RECALL_ANY behind CB_SEQUENCE
	// send reply                        a Reply to an XID that nobody has used
	// send raw HEX | send zeros N
	void send(const Step &step)
	{
		const Words &words = step.line.words;
		const std::string &what = words.at(1);
		Frame frame = new_frame();
		if (what == "call") {
			frame.payload = callback(frame.header.xid, words).stream;
		} else if (what == "reply") {
			XdrWriter xdr;
			write(xdr, ReplyHeader{.xid = frame.header.xid});
			frame.payload = xdr.take();
		} else if (what == "raw") {
			const Bytes bytes = bytes_of_hex(words.at(2));
			frame.damage.push_back([bytes](Bytes &message) { message = bytes; });
		} else if (what == "zeros") {
			const std::uint64_t length = evaluate(words.at(2), {});
			frame.damage.push_back([length](Bytes &message) { message.assign(length, 0); });
		} else {
			throw ScriptError("'" + what + "' is nothing that can be sent to a client");
		}
		for (const Line &line : step.block) {
			if (line.words[0] == "long")
				travel_long(frame, number(line.words, "long", 1));
			else
				apply(frame, line, names());
		}
		last_ = frame;
		sent_ = frame.header;
		sent_xids_ = {frame.header.xid};
		send_once(frame);
		for (std::uint32_t times = number(words, "times", 1); times > 1; times--) {
			frame.header.xid = ++own_xid_;
			if (frame.payload.size() >= 4)
				change_word(frame.payload, 0, "=", frame.header.xid);
			sent_xids_.insert(frame.header.xid);
			send_once(frame);
		}
	}

	// keep N call null|sequence|recalls N times M    Calls in the reverse direction, of which N are unanswered, each in a
	// slot of its own, until M have been answered
	void keep_outstanding(const Step &step)
	{
		const Words &words = step.line.words;
		const std::uint64_t most = evaluate(words.at(1), {});
		const std::uint32_t times = number(words, "times", 1);
		std::map<std::uint32_t, std::uint32_t> slots; // by the XID of the Call that has it
		std::uint32_t sent = 0;
		expectation_ = expectation_of(step);
		while (sent < times || !slots.empty()) {
			if (sent < times && slots.size() < most) {
				const std::uint32_t slot = first_unused(slots);
				slots[send_in_slot(words, slot)] = slot;
				sent++;
				continue;
			}
			const ReverseAnswer answer = next_reverse_answer(false, "success");
			slots.erase(answer.decoded.header.xid);
			sent_xids_.erase(answer.decoded.header.xid);
			check_answer(step, answer);
		}
	}

	static std::uint32_t first_unused(const std::map<std::uint32_t, std::uint32_t> &slots)
	{
		std::uint32_t slot = 0;
		while (std::any_of(slots.begin(), slots.end(),
				   [slot](const auto &used) { return used.second == slot; }))
			slot++;
		return slot;
	}

	// What this end sends of its own.
	Frame new_frame()
	{
		Frame frame;
		frame.header.xid = ++own_xid_;
		frame.header.credits = 8;
		return frame;
	}

	// The XID.
	std::uint32_t send_in_slot(const Words &words, std::uint32_t slot)
	{
		Frame frame = new_frame();
		frame.payload = callback(frame.header.xid, words, slot).stream;
		last_ = frame;
		sent_ = frame.header;
		sent_xids_.insert(frame.header.xid);
		send_once(frame);
		return frame.header.xid;
	}

	// None of these is a Reply, whatever its XID.
	void send_once(const Frame &frame)
	{
		static_cast<void>(connection());
		expect_sent(responder_.send_beside(current(), frame));
	}

	// long [N]: in a Position Zero Read chunk of so many segments
	void travel_long(Frame &frame, std::uint32_t segments)
	{
		Memory memory(connection(), frame.payload.size(), Access::read);
		std::copy(frame.payload.begin(), frame.payload.end(), memory.bytes().begin());
		frame.header.type = RDMA_NOMSG;
		const std::size_t size = frame.payload.size();
		for (std::uint32_t i = 0; i < segments; i++)
			frame.header.reads.push_back(
				{0,
				 memory.segment(size * i / segments, size * (i + 1) / segments - size * i / segments)});
		frame.payload.clear();
		keep("call", std::move(memory));
	}

	Payload callback(std::uint32_t xid, const Words &words, std::uint32_t slot = 0)
	{
		const auto &backchannels = service_.backchannels();
		const auto found = std::find_if(backchannels.begin(), backchannels.end(),
						[this](const auto &there) { return there.connection == current(); });
		if (words.at(2) == "null") {
			const Service::Backchannel nobody = {
				.connection = current(), .program = CALLBACK_PROGRAM, .session = {}};
			return callback_null(xid, found == backchannels.end() ? nobody : *found);
		}
		if (found == backchannels.end())
			throw Violation("the client has given this connection no backchannel");
		const std::uint32_t sequence = ++slot_sequence_[{found->session, slot}];
		return words[2] == "recalls" ?
			       callback_recall_any(xid, *found, slot, sequence, number(words, "recalls", 0)) :
			       callback_sequence(xid, *found, slot, sequence);
	}

	// reach read | write SEGMENT ok | fails: an RDMA operation of the case's own on memory that a Call offers, or did
	void reach(const Words &words)
	{
		const Segment segment = evaluate_segment(words.at(2), names());
		expectation_ = text_of(words);
		const Transferred done = transfer(words[1] == "read", segment);
		check_reach(done, words.at(3) == "ok");
		// An RDMA operation that fails ends the connection, here at once, there in a while.
		if (!done.ok)
			end(false);
	}

	Transferred transfer(bool is_read, const Segment &segment)
	{
		Connection &there = connection();
		Memory memory(there, segment.length, Access::none);
		const Deadline deadline = settings_.patience.deadline();
		return is_read ? there.read(segment, memory, 0, deadline) :
				 there.write_and_confirm(memory, 0, segment.length, segment, deadline);
	}

	// Expecting

	void expect(const Step &step)
	{
		const Words &words = step.line.words;
		const std::string &what = words.at(1);
		expectation_ = expectation_of(step);
		if (what == "call")
			check_all(
				step.block, [this](const std::string &name) { return field_of(held(), name); },
				names());
		else if (what == "client")
			expect_client(words);
		else if (what == "connection")
			expect_connection(words.at(2));
		else if (what == "reply" || what == "error")
			expect_reverse(step);
		else if (what == "dropped")
			expect_dropped(words);
		else if (what == "private")
			check_private(step);
		else
			throw ScriptError("'" + what + "' is nothing that can be expected of a client");
	}

	static std::uint64_t length_of_reads(const Header &header)
	{
		std::uint64_t length = 0;
		for (const ReadSegment &read : header.reads)
			length += read.target.length;
		return length;
	}

	std::string result_file() const { return "results/" + instance_->name; }

	bool has_result()
	{
		const File *const file = tree_.find(result_file());
		return file && parse_result(file->content);
	}

	const ClientResult &client_result()
	{
		if (!client_) {
			serve_until([this] { return has_result(); }, "the client's result");
			begin_ = {};
			client_ = parse_result(tree_.find(result_file())->content);
		}
		return *client_;
	}

	// expect client OUTCOME [or OUTCOME]: ok | EIO [times N] | EPROTONOSUPPORT... | fails | any
	void expect_client(const Words &words)
	{
		const ClientResult &result = client_result();
		const auto other = std::find(words.begin(), words.end(), "or");
		const auto wrong = fault_of(result, Words(words.begin() + 2, other));
		if (!wrong)
			return;
		if (other == words.end())
			throw Violation(*wrong);
		if (const auto as_well = fault_of(result, Words(other + 1, words.end())))
			throw Violation(*wrong == *as_well ? *wrong : *wrong + ", and " + *as_well);
	}

	// Why it is not that outcome.
	std::optional<std::string> fault_of(const ClientResult &result, const Words &outcome)
	{
		const std::string &name = outcome.at(0);
		if (name == "ok" && result.status != 0)
			return "the client's operation failed: " + result.output;
		if (name == "ok" || (name == "any" && result.status == 0))
			return fault_of_data(result);
		if (name == "any")
			return std::nullopt;
		if (result.status == 0)
			return "the client's operation succeeded";
		return name == "fails" ? std::nullopt : fault_of_error(result, outcome);
	}

	static std::optional<std::string> fault_of_error(const ClientResult &result, const Words &outcome)
	{
		static const std::map<std::string, std::string> ERRORS = {
			{"EIO", "Input/output error"},		{"EPROTONOSUPPORT", "Protocol not supported"},
			{"ETIMEDOUT", "Connection timed out"},	{"EACCES", "Permission denied"},
			{"ENAMETOOLONG", "File name too long"},
		};
		const auto error = ERRORS.find(outcome.at(0));
		if (error == ERRORS.end())
			throw ScriptError("'" + outcome[0] + "' is no error that is known here");
		const std::size_t seen = count_of(error->second, result.output);
		if (seen == 0)
			return "the client's operation failed otherwise: " + result.output;
		if (contains(outcome, "times") && seen != number(outcome, "times", 1))
			return "it failed " + std::to_string(seen) + " times: " + result.output;
		return std::nullopt;
	}

	static std::size_t count_of(const std::string &part, const std::string &text)
	{
		std::size_t count = 0;
		for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
			count++;
		return count;
	}

	std::optional<std::string> fault_of_data(const ClientResult &result)
	{
		const std::string &operation = instance_->test->operation[0];
		const std::size_t size = instance_->size();
		const bool reads_so_much = operation == "idle" || operation == "killed";
		if ((operation == "read" || reads_so_much) &&
		    result.read != cksum_line(pattern(0, reads_so_much ? 8192 : size, 3)))
			return "the client read other data than the file has: " + result.read;
		if (operation == "acl" && tree_.find("cases/" + instance_->name + "/data")->acl != acl_of(size))
			return "the file has not got its ACL";
		if (operation == "write" &&
		    tree_.find("cases/" + instance_->name + "/new")->content != pattern(0, size, 1))
			return "what the client wrote is not what came";
		if (operation == "readlink" && result.read != cksum_line(line_of('l', instance_->link_length())))
			return "the client read another link: " + result.read;
		if (operation == "rename" && !tree_.find("cases/" + instance_->name + "/" + std::string(size, '0')))
			return "the file has not got its new name";
		if (operation == "list" && result.output != std::to_string(size))
			return "the client saw " + result.output + " names in a directory of " + std::to_string(size);
		if (operation == "stat" && result.output != std::to_string(std::max(DATA_SIZE, size)))
			return "the client took the file's size for " + result.output;
		return std::nullopt;
	}

	// expect connection kept | closed: by the client, up to when its operation has ended.
	void expect_connection(const std::string &what)
	{
		if (what == "closed") {
			serve_until([this] { return !ended_.empty(); }, "the end of the connection");
			return;
		}
		static_cast<void>(client_result());
		// What has come meanwhile counts.
		serve_for({});
		if (!ended_.empty())
			throw Violation("the client has closed the connection");
	}

	// expect dropped [or CHUNK | VERS]: nothing came of what was sent, or that RDMA_ERROR. Where there is a backchannel, the client is bound to answer two
	// Calls behind it, and these answers come first; elsewhere it is what came until its operation had ended.
	void expect_dropped(const Words &words)
	{
		std::uint64_t allowed = number(words, "or", NOTHING);
		const bool is_fenced = has_backchannel();
		if (!is_fenced)
			static_cast<void>(client_result());
		for (int i = 0; is_fenced && i < 2; i++)
			expect_fence(allowed);
		if (!others_.empty())
			throw Violation("what came is " + describe_message(others_.front().second.bytes));
	}

	static constexpr std::uint64_t NOTHING = 0;

	void expect_fence(std::uint64_t &allowed)
	{
		Frame fence = new_frame();
		fence.payload = callback(fence.header.xid, {"send", "call", "null"}).stream;
		send_once(fence);
		Message message = next_other("the Reply to a Call behind it");
		if (allowed != NOTHING && is_error(message, allowed)) {
			allowed = NOTHING;
			message = next_other("the Reply to a Call behind it");
		}
		if (decode_received(message).header.xid != fence.header.xid)
			throw Violation("it was not dropped: " + describe_message(message.bytes));
	}

	// An RDMA_ERROR with that code, for what was sent last.
	bool is_error(const Message &message, std::uint64_t code) const
	{
		const Header header = decode_received(message).header;
		return header.type == RDMA_ERROR && header.error == code && header.xid == sent_.xid &&
		       header.version == sent_.version &&
		       (code != ERR_VERS || (header.version_low == VERSION_1 && header.version_high == VERSION_1));
	}

	bool has_backchannel()
	{
		const auto &all = service_.backchannels();
		return std::any_of(all.begin(), all.end(),
				   [this](const auto &there) { return there.connection == current(); });
	}

	// What the client sends next that is no Call.
	Message next_other(const std::string &awaited)
	{
		serve_until([this] { return !others_.empty() || !ended_.empty(); }, awaited);
		if (others_.empty())
			throw Violation("the client closed the connection");
		Message message = std::move(others_.front().second);
		others_.pop_front();
		return message;
	}

	// expect reply [RPC-STATUS] [or CHUNK | dropped] | expect error CHUNK | VERS [or dropped]: to a Call in the reverse
	// direction
	void expect_reverse(const Step &step)
	{
		Words words = step.line.words;
		const std::string allowed = behind(words, "or").value_or("");
		words.erase(std::find(words.begin(), words.end(), "or"), words.end());
		const bool is_error = words[1] == "error";
		if (allowed == "dropped" && is_error)
			return expect_dropped({"expect", "dropped", "or", words.at(2)});
		if (allowed == "dropped" && nothing_comes())
			return;
		if (!allowed.empty() && allowed != "dropped" && comes_as_error(evaluate(allowed, {})))
			return;
		const ReverseAnswer answer = next_reverse_answer(is_error, words.size() > 2 ? words[2] : "success");
		if (is_error && answer.decoded.header.error != evaluate(words.at(2), {}))
			throw Violation("the RDMA_ERROR is another: " + describe(answer.decoded.header));
		check_answer(step, answer);
	}

	// Until the client's operation has ended.
	bool nothing_comes()
	{
		static_cast<void>(client_result());
		return others_.empty();
	}

	// Whether what comes next is that RDMA_ERROR, which is taken then.
	bool comes_as_error(std::uint64_t code)
	{
		Message message = next_other("an answer");
		if (is_error(message, code))
			return true;
		others_.emplace_front(current(), std::move(message));
		return false;
	}

	struct ReverseAnswer {
		std::size_t length = 0;
		Decoded decoded;
		Bytes stream; // of a Reply
	};

	// To one of the Calls that were sent last: an RDMA_ERROR, or a Reply with that status of RPC.
	ReverseAnswer next_reverse_answer(bool is_error, const std::string &status)
	{
		const Message message = next_other("an answer");
		ReverseAnswer answer = {
			.length = message.bytes.size(), .decoded = decode_received(message), .stream = {}};
		const Header &header = answer.decoded.header;
		if (!sent_xids_.contains(header.xid))
			throw Violation("it has the XID of nothing that was sent: " + describe(header));
		if (header.version != sent_.version)
			throw Violation("it has another version than the Call (RFC 8167, 5.2)");
		if (is_error != (header.type == RDMA_ERROR))
			throw Violation("what came is " + describe(header));
		if (header.credits == 0)
			throw Violation("it grants no credit");
		if (!is_error)
			answer.stream = judge_reverse_reply(answer.decoded, status);
		return answer;
	}

	void check_answer(const Step &step, const ReverseAnswer &answer)
	{
		const auto fields = [&](const std::string &name) -> std::optional<std::uint64_t> {
			if (name == "length")
				return answer.length;
			if (name == "status")
				return read_callback_reply(answer.stream);
			return field(answer.decoded.header, name);
		};
		check_all(step.block, fields, names());
	}

	// The Reply's Payload stream.
	Bytes judge_reverse_reply(const Decoded &decoded, const std::string &status) const
	{
		if (decoded.header.type != RDMA_MSG && decoded.header.type != RDMA_NOMSG)
			throw Violation("it is no RDMA_MSG or RDMA_NOMSG: " + describe(decoded.header));
		const Bytes stream = stream_of_reply(sent_, decoded, memory_);
		try {
			XdrReader xdr(stream);
			const ReplyHeader reply = read_reply(xdr);
			if (reply.xid != decoded.header.xid)
				throw Violation("the RPC message has another XID than its header (RFC 8167, 5.2)");
			check_rpc_status(reply.accepted, reply.status, status);
		} catch (const Malformed &malformed) {
			throw Violation(std::string("what came is no Reply: ") + malformed.what());
		}
		return stream;
	}

	// The end of a case: the client has done its work, nothing else was wrong, and it reads another file well.
	void conclude()
	{
		expectation_ = "a client in order";
		const ClientResult &result = client_result();
		if (result.good != cksum_line(pattern(0, 8192, 2)))
			throw Violation("another file was not read well afterwards: " + result.good + ": " +
					result.output);
		if (!violations_.empty())
			throw Violation(violations_.front());
		put_things_right();
	}

	// The next case finds a connection that is as it should be, or none.
	void put_things_right()
	{
		memory_.clear();
		remembered_.clear();
		if (std::exchange(is_unusual_, false))
			responder_.end_all();
	}

	// After a failure, whatever the client still wants of this case is served, so that it gets to the next one. Whether it
	// does.
	bool recover()
	{
		if (held_)
			held_beside_.push_back(std::move(*held_));
		held_.reset();
		for (const ArrivedCall &call : std::exchange(held_beside_, {}))
			if (responder_.awaits_reply(call))
				responder_.send(call.connection, responder_.plan(call));
		awaited_operation_.clear();
		awaits_request_ = false;
		if (held_request_)
			responder_.accept(request(), usual_acceptance());
		const bool goes_on = responder_.serve_until([this] { return has_result(); },
							    Clock::now() + 6 * settings_.patience.answer);
		put_things_right();
		return goes_on;
	}

	ListenSettings settings_;
	ClientHooks hooks_;
	std::vector<Instance> instances_;
	Tree tree_;
	Service service_;
	MountDaemon mount_daemon_;
	Responder responder_;

	const Instance *instance_ = nullptr;
	Deadline begin_;
	Clock::duration patience_{};
	std::vector<std::string> *trace_ = nullptr;
	std::string expectation_;
	std::string awaited_operation_;
	std::size_t awaited_calls_ = 1;
	bool awaits_any_file_ = false;
	bool awaits_request_ = false;
	std::optional<ArrivedCall> held_;
	std::deque<ArrivedCall> held_beside_;
	std::deque<ArrivedCall> early_;
	std::optional<Request> held_request_;
	std::deque<std::pair<std::uint64_t, Message>> others_;
	std::vector<std::uint64_t> ended_;
	std::vector<std::string> violations_;
	std::optional<ClientResult> client_;
	MemoryByName memory_;
	std::uint64_t memory_connection_ = 0;
	std::map<std::string, Segment> remembered_;
	std::map<std::string, std::uint64_t> noted_;
	std::map<std::pair<Bytes, std::uint32_t>, std::uint32_t> slot_sequence_; // by session and slot
	Frame last_;
	Header sent_;
	std::set<std::uint32_t> sent_xids_;
	bool is_unusual_ = false;
	std::uint32_t own_xid_ = first_xid();
};

} // namespace

std::string cksum_line(ByteView bytes)
{
	return std::to_string(posix_cksum(bytes)) + " " + std::to_string(bytes.size());
}

void run_client_cases(const std::vector<Case> &cases, const ListenSettings &settings, const ClientHooks &hooks)
{
	Suite suite(cases, settings, hooks);
	hooks.ready();
	Deadline begin = Clock::now() + settings.start;
	// Why there is no client any more: that fails the cases which it has not come to.
	std::string gone;
	for (std::size_t i = 0; i < suite.instances().size();) {
		const Case &test = *suite.instances()[i].test;
		hooks.begun(test);
		CaseResult result = new_result(test);
		const Clock::time_point started = Clock::now();
		for (; i < suite.instances().size() && suite.instances()[i].test == &test; i++) {
			CaseResult once = new_result(test);
			try {
				if (gone.empty())
					suite.run(suite.instances()[i], begin, once);
			} catch (const ClientEnded &ended) {
				gone = ended.what();
			}
			if (!gone.empty()) {
				once.outcome = Outcome::failed;
				once.came = gone;
				once.in_order = false;
			}
			begin = Clock::now() + 6 * settings.patience.answer;
			const bool in_order = result.in_order && once.in_order;
			if (result.outcome == Outcome::passed)
				result = once;
			result.in_order = in_order;
		}
		result.seconds = std::chrono::duration<double>(Clock::now() - started).count();
		hooks.told(result);
		if (settings.stop_when_ill && !result.in_order)
			return;
	}
	// It has to take its leave, which takes somebody who answers.
	const Deadline end = Clock::now() + 6 * settings.patience.answer;
	while (hooks.wait_for_end && !hooks.ended() && Clock::now() < end)
		suite.responder().serve_until([] { return false; }, Clock::now() + LOOK_AROUND);
}

void serve(const ListenSettings &settings, const std::function<bool()> &done,
	   const std::function<void(const std::string &)> &trace)
{
	const std::vector<Case> none;
	Suite suite(none, settings, {});
	suite.responder().trace = [&](std::uint64_t connection, const std::string &line) {
		trace(std::to_string(connection) + ": " + line);
	};
	while (!suite.responder().serve_until(done, Clock::now() + LOOK_AROUND))
		;
}

} // namespace peer
