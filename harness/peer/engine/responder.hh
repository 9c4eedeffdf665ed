// SPDX-License-Identifier: GPL-2.0-only
//
// The responder: takes connections and Calls, has the service carry them out, and carries the Replies back, as RFC 8166
// wants it of a well-behaved one. Whoever drives it may take any of that into his own hands.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codec/private_data.hh"
#include "engine/client.hh"
#include "engine/frame.hh"
#include "engine/option.hh"
#include "service/service.hh"
#include "verbs/verbs.hh"

namespace peer {

/// A requester's Call, with its Payload stream put together.
struct ArrivedCall {
	std::uint64_t connection = 0;
	Decoded message;
	std::size_t message_length = 0;
	Bytes stream;
	Served served;
};

/// A part of a Reply that goes into a chunk: @length bytes of its stream from @from on, to a segment.
struct Placed {
	std::size_t from = 0;
	Segment to; // its length is how much is written
};

/// A Reply on its way back.
struct Answer {
	Frame frame;
	std::vector<Placed> placed;
	Bytes stream;
	/// Where in the stream a Reply begins that goes into the Reply chunk.
	std::size_t reply_from = 0;
};

/// How connections are accepted, and what is granted on them.
struct Acceptance {
	/// Nothing: no private data at all.
	std::optional<PrivateData> private_data;
	/// In its place, byte for byte.
	std::optional<Bytes> raw_private_data;
	unsigned reads = 16;
	std::uint32_t credits = 16;
};

/// Versions of RPC-over-RDMA.
struct Versions {
	std::uint32_t low = VERSION_1;
	std::uint32_t high = VERSION_1;

	[[nodiscard]] bool contain(std::uint32_t version) const noexcept { return low <= version && version <= high; }
};

/// What a well-behaved responder says of itself.
[[nodiscard]] Acceptance usual_acceptance() noexcept;

class Responder {
    public:
	Responder(const std::string &host, std::uint16_t port, Service &service);
	~Responder();

	/// Takes a Call over: true means that it will not be answered but by whoever took it.
	std::function<bool(ArrivedCall &)> take_call;
	/// Takes a connection request over, by moving from it; an untouched one is accepted as @acceptance says.
	std::function<bool(Request &)> take_request;
	/// Takes a message of a version that is not accepted over: true means that it gets no ERR_VERS.
	std::function<bool(std::uint64_t connection, const Message &)> take_version;
	/// Hears of what is no Call: Replies in the reverse direction, RDMA_ERRORs, what cannot be decoded.
	std::function<void(std::uint64_t connection, const Message &)> take_other;
	/// Hears of what a requester did wrong, in words that name the rule.
	std::function<void(std::uint64_t connection, const std::string &)> violated;
	std::function<void(std::uint64_t connection, const std::string &)> trace;
	/// Hears of every message, that this end sends or that comes.
	std::function<void(std::uint64_t connection, bool is_sent, ByteView, std::optional<std::uint32_t> invalidates)>
		exchanged;
	std::function<void(std::uint64_t connection, const Closed &)> closed;

	Acceptance acceptance = usual_acceptance();
	/// In which versions Calls are answered, each in its own, as far as the peer speaks them; what ERR_VERS says to others.
	Versions versions;
	/// Its OPTIONAL features.
	Features features;

	/// Serves until @done says so; false when the deadline passed first.
	bool serve_until(const std::function<bool()> &done, Deadline deadline);

	/// Accepts a request that was taken over, and waits until it is established. The connection's number, or nothing where it
	/// did not come about.
	std::optional<std::uint64_t> accept(Request request, const Acceptance &how);

	/// The Reply that a well-behaved responder sends; @prefer_long uses the Reply chunk also where that is not needed.
	/// An ERR_CHUNK where the Reply fits nowhere.
	[[nodiscard]] Answer plan(const ArrivedCall &call, bool prefer_long = false);
	/// Writes what goes into chunks, and sends the message. False, with the reason traced, where that has not gone out.
	bool send(std::uint64_t connection, const Answer &answer, bool with_data = true);
	bool send(std::uint64_t connection, const Frame &frame);
	/// Sends what answers no Call, whatever XID it has.
	bool send_beside(std::uint64_t connection, const Frame &frame);

	/// Whether nothing has been sent that answers it, and its connection is still there.
	[[nodiscard]] bool awaits_reply(const ArrivedCall &call) const;

	[[nodiscard]] Connection *connection(std::uint64_t number);
	[[nodiscard]] const Agreement *agreement(std::uint64_t number) const;
	/// The CM private data of the last request that was accepted.
	[[nodiscard]] const Bytes &last_private_data() const noexcept { return last_private_data_; }
	/// How many connections have been accepted: the number of the newest.
	[[nodiscard]] std::uint64_t accepted() const noexcept { return next_ - 1; }
	/// Ends a connection, in order or by letting its queue pair vanish.
	void end(std::uint64_t connection, bool in_order);
	/// All of them, in order.
	void end_all();

	[[nodiscard]] Patience &patience() noexcept { return patience_; }

    private:
	struct Association {
		std::unique_ptr<Connection> connection;
		Agreement agreement;
		std::uint32_t credits = 0;
		/// XIDs of Calls that have not been answered.
		std::set<std::uint32_t> outstanding;
		/// How many those may be, and how many the requester asked for last.
		std::size_t allowed = 1;
		std::uint32_t asked = 1;
	};

	enum class Until : std::uint8_t { accepted, established };

	std::optional<std::uint64_t> accept(Request request, const Acceptance &how, Until until);
	void take(Request request);
	void take(std::uint64_t number, const Message &message);
	void take_call_message(std::uint64_t number, const Message &message, const Decoded &decoded);
	[[nodiscard]] bool speaks(std::uint32_t version) const noexcept;
	[[nodiscard]] bool refuse_version(std::uint64_t number, const Message &message);
	[[nodiscard]] bool refuse_malformed(std::uint64_t number, const Message &message);
	[[nodiscard]] bool answer_option(std::uint64_t number, const Decoded &message);
	[[nodiscard]] bool refuse_message(std::uint64_t number, const Decoded &message);
	void refuse(std::uint64_t number, const Header &refused, std::uint32_t error);
	void forget(std::uint64_t number, const Closed &end);
	[[nodiscard]] std::optional<Bytes> assemble(std::uint64_t number, const Decoded &message);
	void judge_type(std::uint64_t number, const Header &header);
	void judge(std::uint64_t number, const Decoded &message, std::size_t length);
	void judge_reads(std::uint64_t number, const Decoded &message);
	[[nodiscard]] bool judge_stream(std::uint64_t number, const ArrivedCall &call);
	static void count_reply(Association &association, const Header &reply);
	void blame(std::uint64_t number, const std::string &what) const;
	void blame_transfer(std::uint64_t number, const std::string &what, const Transferred &failed) const;

	Listener listener_;
	Service &service_;
	Patience patience_;
	std::map<std::uint64_t, Association> connections_;
	std::uint64_t next_ = 1;
	Bytes last_private_data_;
};

} // namespace peer
