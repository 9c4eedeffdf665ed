/* SPDX-License-Identifier: GPL-2.0-only */
/* The requester: one of sunrpc's transports. What it may send and accept is decided in proto/, how it is carried out in
 * verbs/. */
#pragma once

#include "client/connector.hh"
#include "client/negotiator.hh"
#include "client/outstanding.hh"
#include "client/reverse.hh"
#include "client/slots.hh"
#include "client/statistics.hh"
#include "kernel/atomic.hh"
#include "kernel/histogram.hh"
#include "verbs/endpoint.hh"
#include "verbs/live.hh"
#include "verbs/observed.hh"
#include "verbs/tallies.hh"

namespace rpcordma::client {

/* What follows an rpc_xprt, in one allocation of sunrpc's: the parts of a requester, which find one another here. Each part
 * guards its own; nothing here changes but counters. */
class Transport final : public verbs::Endpoint::User, public verbs::ObservedConnection {
    public:
	[[nodiscard]] static Transport &of(rpc_xprt *xprt) noexcept;
	[[nodiscard]] static Transport &of(const rpc_rqst *rqst) noexcept;

	/* `source` is the address to connect from, or null for any. */
	Transport(rpc_xprt *xprt, const sockaddr *source, std::size_t source_length) noexcept;
	/* Closes the connection. Nobody can call any more. Context: sleeps. */
	~Transport();

	/* Sends a Call, or a Reply in the reverse direction. Return: 0 or a negative errno, as sunrpc/xprt.h has it for
	 * send_request(). Context: the send lock. */
	[[nodiscard]] int send(rpc_rqst *rqst) noexcept;
	/* What a Call lacked may be there now. Context: process; does not sleep. */
	void room() noexcept override;
	/* A message has come that leaves a Call without its Reply: posts the Receive for that, as far as there is memory.
	 * Context: a completion. */
	void keep_receives() noexcept;
	/* Whether there is swap on this transport. Context: any. */
	[[nodiscard]] bool carries_swap() noexcept override;
	/* As Connector::give_up(). */
	void give_up(const char *reason) noexcept { connector_.give_up(reason); }

	[[nodiscard]] rpc_xprt *xprt() const noexcept { return xprt_; }
	/* The address of the responder. */
	[[nodiscard]] const sockaddr *peer() const noexcept
	{
		return reinterpret_cast<const sockaddr *>(&kernel::field::rpc_xprt::addr(xprt_));
	}
	/* As Connector::endpoint(). */
	[[nodiscard]] verbs::Endpoint &endpoint() noexcept { return connector_.endpoint(); }
	[[nodiscard]] Connector &connector() noexcept { return connector_; }
	[[nodiscard]] Negotiator &negotiator() noexcept { return negotiator_; }
	[[nodiscard]] Outstanding &outstanding() noexcept { return outstanding_; }
	[[nodiscard]] Slots &slots() noexcept { return slots_; }
	[[nodiscard]] ReverseResponder &reverse() noexcept { return reverse_; }
	[[nodiscard]] Statistics &statistics() noexcept { return statistics_; }
	[[nodiscard]] verbs::Tallies &tallies() noexcept { return tallies_; }
	/* A message of the responder's is dropped, or answered with an error. Any process context. */
	[[gnu::noinline]] void refused(const char *reason) noexcept;
	/* How long Calls have waited for their Replies, in nanoseconds. Context: a completion, to record. */
	[[nodiscard]] kernel::Histogram<RPCORDMA_LATENCIES> &latencies() noexcept { return latencies_; }

	/* observe.cc */
	void observe(rpcordma_connection &to) noexcept override;

    private:
	void received(verbs::ReceiveBuffer &buffer) noexcept override;
	void lost(const verbs::Ending &why) noexcept override;
	bool look() noexcept override
	{
		const bool has_slots = slots_.trim();
		return outstanding_.look() || has_slots;
	}

	Counted counted_{live_objects.transports};
	rpc_xprt *const xprt_;
	Connector connector_;
	Negotiator negotiator_{*this};
	Outstanding outstanding_{*this};
	Slots slots_{*this};
	ReverseResponder reverse_{*this};
	Statistics statistics_;
	verbs::Tallies tallies_;
	kernel::Histogram<RPCORDMA_LATENCIES> latencies_;
	/* Counts the events after which a Call may find room that it lacked. Read before an attempt, and after sunrpc has noted that
	 * somebody waits; an event counts between making room and looking for who waits. */
	kernel::Atomic<std::uint32_t> room_events_{0};
};

} // namespace rpcordma::client
