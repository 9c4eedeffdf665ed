// SPDX-License-Identifier: GPL-2.0-only
//
/// The suite for clients as it runs: the responder, the client's results, and the steps of the case.
#pragma once

#include <deque>
#include <map>
#include <set>

#include "engine/responder.hh"
#include "suite/client_instance.hh"
#include "suite/client_suite.hh"
#include "suite/recorder.hh"
#include "suite/words.hh"

namespace peer {

// There is nobody left to wait for.
class ClientEnded : public Violation {
    public:
	using Violation::Violation;
};

class Suite {
    public:
	Suite(const std::vector<Case> &cases, const ListenSettings &settings, const ClientHooks &hooks)
		: settings_(settings)
		, hooks_(hooks)
		, instances_(instances_of(cases, settings.repeat))
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
		responder_.exchanged = [this](std::uint64_t connection, bool is_sent, ByteView message,
					      std::optional<std::uint32_t> invalidates) {
			if (recorder_)
				recorder_->note(std::to_string(connection), is_sent, message, invalidates);
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
	void run(const Instance &instance, Deadline begin, CaseResult &result);

    private:
	// The end of an instance.
	void leave();

	// What the steps are about

	static bool is_of(const Instance &instance, const ArrivedCall &call);

	bool is_of_case(const ArrivedCall &call) const { return is_of(*instance_, call); }

	bool is_of_later_case(const ArrivedCall &call) const;

	bool take_call(ArrivedCall &call);

	// Tells of the client, once.
	void meet(const ArrivedCall &call);

	std::size_t held_count() const { return held_ ? 1 + held_beside_.size() : 0; }

	bool take_request(Request &request);

	Names names();

	// Of RPC-over-RDMA, that the client speaks.
	std::uint32_t highest_version() const;

	// "call.FIELD" is of the held Call, "other.FIELD" of the next one of several.
	const ArrivedCall *named_call(const std::string &name) const;

	static std::optional<std::uint64_t> field_of(const ArrivedCall &call, const std::string &name);

	// "read[0].position%4" is what a division by four leaves.
	static std::optional<std::uint64_t> field_or_remainder(const Header &header, const std::string &name);

	// Memory that a case has offered, or a segment that a held Call has: "call.write[0][1]".
	std::optional<Segment> memory(const std::string &name);

	// Steps

	void take(const Step &step);

	void perform(const Step &step);

	// The connection that the case is about: that of the Call that was held last, or the newest.
	std::uint64_t current() const { return held_ ? held_->connection : responder_.accepted(); }

	Connection &connection();

	Deadline deadline() const;

	// What came before this case began, and is of it.
	void take_early();

	void serve_until(const std::function<bool()> &done, const std::string &awaited);

	// serve MILLISECONDS: for what shall not come, which nothing tells
	void serve_for(Clock::duration time);

	// on OPERATION [times N] [beside] [anywhere]   holds the next Calls of that operation on a file of the case
	// on connect                                   holds the next connection request
	void await(const Words &words);

	void await_request();

	// need answer: what was sent last is such a message; need call: what is held is such a Call; need private: the client
	// says so of itself; need connection: it has not closed it. Other clients may do the same in another way, which the case
	// can say nothing about.
	void need(const Step &step);

	void need_private(const Step &step);

	void need_connection();

	void check_private(const Step &step);

	ArrivedCall &held();

	Request request();

	// answer [long] [without data] [late]    the Reply that belongs to the held Call; late, when the client may have given up
	// answer error CHUNK | VERS L H     an RDMA_ERROR
	// answer again                      what was answered last
	// answer others                     those that are held beside it, as they should be
	// answer nothing
	void answer(const Step &step);

	// A message that has not gone out proves nothing, but where the client may have been too early.
	static void expect_sent(bool sent);

	static std::uint32_t number(const Words &words, const char *word, std::uint64_t usual);

	// stream[n] of what is sent by RDMA Write to the Reply chunk
	static void change_stream(Answer &answer, const Words &words);

	// accept [private HEX [offset N] [length N] | silent] [send BYTES] [receive BYTES] [invalidation] [reads N]
	//        [credits N]
	void accept(const Words &words);

	void grant(const Words &words);

	// versions LOW HIGH: Calls of these are answered from now on, if the peer speaks them, and others get ERR_VERS
	void speak(const Versions &versions);

	void reject(const Words &words) { request().reject(private_data_of(words)); }

	// memory NAME SIZE read|write|read-write
	void make_memory(const Words &words);

	// Memory is the case's for as long as the connection lasts that it is registered with.
	void keep(const std::string &name, Memory memory);

	void starve();
	void end(bool in_order);

	// send call null|sequence|recalls N    a Call in the reverse direction; with N CB_RECALL_ANY behind CB_SEQUENCE
	// send reply                        a Reply to an XID that nobody has used
	// send option TYPE [HEX]            a message of version 2's type OPTIONAL, without a Payload stream
	// send raw HEX | send zeros N       a message of its own; "raw nothing" has no bytes
	void send(const Step &step);

	// keep N call null|sequence|recalls N times M    Calls in the reverse direction, of which N are unanswered, each in a
	// slot of its own, until M have been answered
	void keep_outstanding(const Step &step);

	static std::uint32_t first_unused(const std::map<std::uint32_t, std::uint32_t> &slots);

	// What this end sends of its own: in the version of the Call that was held last (RFC 8167, 5.1).
	Frame new_frame();

	// The XID.
	std::uint32_t send_in_slot(const Words &words, std::uint32_t slot);

	// None of these is a Reply, whatever its XID.
	void send_once(const Frame &frame);

	// long [N]: in a Position Zero Read chunk of so many segments
	void travel_long(Frame &frame, std::uint32_t segments);

	Payload callback(std::uint32_t xid, const Words &words, std::uint32_t slot = 0);

	// reach read | write | immediate SEGMENT ok | fails | unrefused: an RDMA operation of the case's own on memory that a Call
	// offers, or did
	void reach(const Words &words);

	Transferred transfer(const std::string &operation, const Segment &segment);

	// Expecting

	void expect(const Step &step);

	static std::uint64_t length_of_reads(const Header &header);

	std::string result_file() const { return "results/" + instance_->name; }

	bool has_result();

	const ClientResult &client_result();

	// expect client OUTCOME [or OUTCOME]: ok | EIO [times N] | EPROTONOSUPPORT... | fails | any
	void expect_client(const Words &words);

	// Why it is not that outcome.
	std::optional<std::string> fault_of(const ClientResult &result, const Words &outcome);

	static std::optional<std::string> fault_of_error(const ClientResult &result, const Words &outcome);

	static std::size_t count_of(const std::string &part, const std::string &text);

	std::optional<std::string> fault_of_data(const ClientResult &result);

	// expect connection kept | closed: by the client, up to when its operation has ended.
	void expect_connection(const std::string &what);

	// expect dropped [or CHUNK | VERS]: nothing came of what was sent, or that RDMA_ERROR. Where there is a backchannel, the client is bound to answer two
	// Calls behind it, and these answers come first; elsewhere it is what came until its operation had ended.
	void expect_dropped(const Words &words);

	static constexpr std::uint64_t NOTHING = 0;

	void expect_fence(std::uint64_t &allowed);

	// An RDMA_ERROR with that code, for what was sent last.
	bool is_error(const Message &message, std::uint64_t code) const;

	bool has_backchannel();

	// What the client sends next that is no Call.
	Message next_other(const std::string &awaited);

	// expect reply [RPC-STATUS] [or CHUNK | dropped] | expect error CHUNK | VERS [or dropped]: to a Call in the reverse
	// direction
	void expect_reverse(const Step &step);

	// expect option TYPE [HEX]: what answers the one that was sent last
	void expect_option(const Step &step);

	// Until the client's operation has ended.
	bool nothing_comes();

	// Whether what comes next is that RDMA_ERROR, which is taken then.
	bool comes_as_error(std::uint64_t code);

	struct ReverseAnswer {
		std::size_t length = 0;
		Decoded decoded;
		Bytes stream; // of a Reply
	};

	// To one of the Calls that were sent last: an RDMA_ERROR, or a Reply with that status of RPC.
	ReverseAnswer next_reverse_answer(bool is_error, const std::string &status);

	void check_answer(const Step &step, const ReverseAnswer &answer);

	// The Reply's Payload stream.
	Bytes judge_reverse_reply(const Decoded &decoded, const std::string &status) const;

	// The end of a case: the client has done its work, nothing else was wrong, and it reads another file well.
	void conclude();

	// The next case finds a connection that is as it should be, or none.
	void put_things_right();

	// After a failure, whatever the client still wants of this case is served, so that it gets to the next one. Whether it
	// does.
	bool recover();

	ListenSettings settings_;
	ClientHooks hooks_;
	bool has_met_ = false;
	std::vector<Instance> instances_;
	Tree tree_;
	Service service_;
	MountDaemon mount_daemon_;
	Responder responder_;

	const Instance *instance_ = nullptr;
	Deadline begin_;
	Clock::duration patience_{};
	std::vector<std::string> *trace_ = nullptr;
	std::optional<Recorder> recorder_;
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

} // namespace peer
