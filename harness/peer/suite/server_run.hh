// SPDX-License-Identifier: GPL-2.0-only
//
/// One case as it runs against a server: its connections, and its steps.
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "suite/recorder.hh"
#include "suite/server_case.hh"
#include "suite/words.hh"

namespace peer {

// One connection of a case.
struct Link {
	std::unique_ptr<Connection> connection;
	Agreement agreement;
	bool windows = false;
	bool forward_only = false;
	/// What Replies in the reverse direction grant.
	std::uint32_t reverse_credits = 8;
	/// Memory that the case has named, and where that was which it has freed since.
	std::map<std::string, Memory> memory;
	std::map<std::string, Segment> freed;
	/// Calls that have been sent, with their XID in the header as it was sent.
	std::deque<std::pair<std::uint32_t, std::unique_ptr<Transaction>>> outstanding;
	/// What was sent last, for "send again".
	Bytes last;
	/// Calls in the reverse direction that came while something else was awaited, but for probes of the backchannel.
	std::deque<Message> early_calls;
	/// The one that was taken last, and its Payload stream, wherever it came from.
	std::optional<Decoded> reverse_call;
	Bytes reverse_stream;
	nfs4::Session session;
	std::string owner;
	bool has_session = false;
	/// From when CREATE_SESSION is sent: what it asks for may come before its Reply.
	bool has_backchannel = false;
	/// Why there is no connection.
	std::string refused;
	NotConnected::Why why = NotConnected::Why::other;
};

class Run {
    public:
	Run(const Case &test, Export &server, Patience patience, CaseResult &result)
		: test_(test)
		, server_(server)
		, patience_(patience)
		, result_(result)
		, recorder_(result)
		, features_(features_of(test))
		, xid_(first_xid())
	{
	}

	// What is still connected serves for these steps, too.
	void steps(const std::vector<Step> &steps);

	// What is expected now, for people.
	[[nodiscard]] const std::string &expectation() const noexcept { return expectation_; }

    private:
	// A file that has been opened, and the delegation that came with it.
	struct Delegated {
		std::string name;
		FileHandle file;
		Bytes delegation;
	};

	void take(const Step &step);

	// Connections

	// connect [as NAME] [private HEX [offset N] [length N] | silent] [send BYTES] [receive BYTES] [invalidation]
	//         [windows] [receives N] [reads N] [no-rnr-retry] [forward-only] [grants N]
	void connect(const Words &words);

	// need call_threshold >= 8192: and the same for reply_threshold, and invalidated. What a server may or may not do is not
	// the case's business.
	void need(const Line &line);

	// The current connection; connects as usual where the case has not said how.
	Link &link();

	// memory NAME SIZE ACCESS
	void make_memory(const Words &words);

	// free NAME: what was registered is not any more; its handle and its place can still be offered.
	void free_memory(const std::string &name);

	// The Call that was sent, or answered, last on this connection.
	Transaction *last_call();

	// "m" of this connection, "other.m" of the one called other, "earlier.result" of the Call sent before.
	std::optional<Segment> named_segment(const std::string &name);

	Names names();

	// Sending

	std::uint32_t next_xid() noexcept { return ++xid_; }

	std::uint64_t size_argument(const Words &words, std::size_t index) const;

	// The Call that the words behind "send" ask for.
	NfsCall call_of(const Words &words);

	// program NUMBER VERSION PROCEDURE: a Call without arguments.
	static NfsCall bare_call(std::uint32_t xid, const Words &words);

	// The file that was opened last of those whose delegation has not been returned.
	const Delegated &delegated() const;

	static bool has_second_size(const Words &words);

	// A session comes about with the first Call that needs it.
	NfsCall call_of_version_4(const Words &words);

	static unsigned next_seed() noexcept;

	void make_session(Link &here);

	void note_sent(ByteView message);

	void transmit(Link &here, const Frame &frame);

	// What the server makes of a message, ending the connection above all, is for the next steps; one that has not gone
	// out proves nothing.
	void note_outcome(const Transferred &sent);

	static Style style_of(const Words &words);

	// send CALL [as inline|chunks|long] [times N]
	// send again [of NAME]           what was sent last, here or on that connection, byte for byte
	// send raw HEX | send bytes B N  a message of its own, the latter of N bytes B; "raw nothing" has none
	// send reply [times N]           an RPC Reply that nobody waits for
	// send option TYPE [HEX]         a message of version 2's type OPTIONAL, without a Payload stream
	void send(const Step &step);

	void send_again(Link &here, const std::string &from);

	void send_own(Link &here, const Step &step);

	// answer [HEX | recall] [long]    to the Call in the reverse direction that came last, with success and these results,
	//                                 which go to the Call's Reply chunk
	// answer error CHUNK | VERS LOW HIGH
	void answer(const Step &step);

	Frame own_frame(Link &here, const Words &words);

	static Frame answer_to(const Link &here, const Header &call);

	static Bytes reply_to(const Header &call, ByteView results);

	static Bytes results_of_answer(const Link &here, const Words &words);

	// Moves the Payload stream to the Reply chunk where it is to go there, and says of each segment how much of it is used.
	void write_reply(Link &here, Frame &frame, bool is_long);

	// reach read | write ok | fails: the memory that the Call in the reverse direction offered which came last, of its Read
	// list or of its Reply chunk
	void reach(const Words &words);

	static void transfer(const Transferred &done);

	// The Payload stream of a Call in the reverse direction: in the message, or behind its Position Zero Read chunk.
	Bytes stream_of(Link &here, const Decoded &call);

	// Expecting

	// What a step waits for: Calls in the reverse direction may come before that.
	enum class Awaited { answer, call };

	Event receive(Link &here, Deadline deadline);

	// A server that calls back without end has no more time than any other.
	Event next_event(Link &here, Awaited awaited = Awaited::answer);

	Message next_message(Link &here, const std::string &what, Awaited awaited = Awaited::answer);

	// The server may call back at any time.
	static bool is_reverse_call(const Link &here, const Message &message);

	// Whether a Call only asks if anybody is there, which no case is about. One that does not fit into a message asks for
	// more. "send again", and what is expected of the last message, are about those of the case.
	bool answer_probe(Link &here, const Message &message);

	// Whether it is a message of type OPTIONAL in the reverse direction.
	bool answer_option(Link &here, const Message &message);

	// What no step sends.
	void send_beside(Link &here, const Frame &frame);

	void expect(const Step &step);

	// The Call among the outstanding ones that a message is for.
	std::unique_ptr<Transaction> take_outstanding(Link &here, ByteView message);

	// delegation: opens new files until one is delegated. A server may have reasons not to delegate this or that one, or
	// any.
	void get_delegation(const Step &step);

	// Where it comes once more, it belongs to the Call that was answered last.
	Reply judged_reply(Link &here, bool again = false);

	// expect reply [again] [RPC-STATUS]: by default it is successful, in RPC and in NFS.
	void expect_reply(const Step &step);

	void judge_data(const NfsResult &result) const;

	void expect_replies(std::uint64_t count);

	// expect error CHUNK | VERS LOW HIGH | BAD_HEADER | INVAL_OPTION [or dropped | refusal]
	void expect_error(const Step &step);

	// The one that these words ask for, in answer to what was sent last.
	Header expected_error(const Words &words);

	Header judged_error(const Message &message, const Words &words);

	// expect refusal: an RDMA_ERROR that says CHUNK, or a Reply that says GARBAGE_ARGS (bis-04, 8.1.1 and 5.5.2)
	void expect_refusal();

	Message next_call(Link &here);

	// expect call: one in the reverse direction.
	void expect_call(const Step &step);

	// Not before many Calls have been answered, one after the other.
	void expect_no_call();

	// expect option TYPE [HEX]: what answers the one that was sent last
	void expect_option(const Step &step);

	// expect dropped [or CHUNK | BAD_HEADER | INVAL_OPTION]
	void expect_dropped_or(const std::optional<std::string> &error);

	// Nothing comes of it, or the RDMA_ERROR that these words expect: two Calls behind it are answered, and nothing else.
	void expect_dropped(const Words *error = nullptr);

	void expect_closed();

	void expect_refused();

	void expect_scratch(bool written);

	// expect untouched MEMORY[+OFFSET]: memory that the case has named, or that of the last Call, holds what it held.
	void expect_untouched(const std::string &what);

	void trace(const std::string &line);

	// Keeps what this end sends, or gets, on the current connection.
	void record(bool is_sent, ByteView message, std::optional<std::uint32_t> invalidates = std::nullopt)
	{
		recorder_.note(current_, is_sent, message, invalidates);
	}

	static constexpr unsigned MEMORY_SEED = 77;

	const Case &test_;
	Export &server_;
	Patience patience_;
	CaseResult &result_;
	Recorder recorder_;
	Features features_;
	std::uint32_t xid_;
	std::map<std::string, Link> links_;
	std::string current_ = "main";
	std::string expectation_ = "a connection";
	/// XID and version of the message that was sent last, as it went out.
	Header sent_;
	/// With the last Reply.
	std::uint32_t granted_ = 0;
	std::uint32_t invalidated_ = 0;
	std::unique_ptr<Transaction> answered_;
	std::uint64_t read_offset_ = 0;
	Bytes written_;
	/// Another one for each run of a case: what an earlier one has written proves nothing.
	unsigned seed_ = next_seed();
	/// But for those that were returned.
	std::vector<Delegated> delegated_;
};

} // namespace peer
