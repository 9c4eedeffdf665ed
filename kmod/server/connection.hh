/* SPDX-License-Identifier: GPL-2.0-only */
/* The responder's end of a connection: one of sunrpc's svc_xprt. What to do with messages is decided in proto/, how it is
 * carried out in verbs/. */
#pragma once

#include "kernel/heap.hh"
#include "kernel/sync.hh"
#include "server/call.hh"
#include "server/postings.hh"
#include "server/reply.hh"
#include "server/reverse.hh"
#include "server/service.hh"
#include "verbs/endpoint.hh"
#include "verbs/live.hh"
#include "verbs/observed.hh"
#include "verbs/tallies.hh"

namespace rpcordma::server {

struct ConnectRequest;

/* The life of a connection: accepted, used, ended, freed. Owned by sunrpc through the reference count of its svc_xprt. What it
 * is used for are its parts, each with its own lock. */
class Connection final : public kernel::Heap, private verbs::Endpoint::User, public verbs::ObservedConnection {
    public:
	/* Accepts a connection that a listener was asked for, and hands it to sunrpc.
	 * Return: null where it came to nothing.
	 * Context: process context. */
	[[nodiscard]] static svc_xprt *accept(kernel::Owned<ConnectRequest> request, svc_xprt *listener) noexcept;
	[[nodiscard]] static Connection &of(svc_xprt *xprt) noexcept;

	explicit Connection(svc_xprt *listener) noexcept;
	/* Nobody refers to it any more. Process context. */
	~Connection() = default;

	/* sunrpc's xpo_detach(): ends the connection. It waits for the end only where the service itself is ending. What begins
	 * afterwards finds that nothing can be sent. */
	void detach() noexcept;

	[[nodiscard]] Calls &calls() noexcept { return calls_; }
	[[nodiscard]] Replies &replies() noexcept { return replies_; }
	[[nodiscard]] ReverseRequester &reverse() noexcept { return reverse_; }
	[[nodiscard]] Postings &postings() noexcept { return postings_; }
	/* What its parts use. They are inside of the gate, or in the endpoint's completions and events. */
	[[nodiscard]] verbs::Endpoint &endpoint() noexcept { return *endpoint_; }
	[[nodiscard]] kernel::Gate &gate() noexcept { return gate_; }
	[[nodiscard]] svc_xprt *xprt() noexcept { return xprt_.get(); }
	/* With the port, for people: sunrpc knows the address without it. */
	[[nodiscard]] const sockaddr *peer() const noexcept;
	[[nodiscard]] proto::Requester requester() const noexcept { return requester_; }
	[[nodiscard]] bool is_ending() const noexcept { return is_ending_.read(); }
	/* The highest version that is accepted. */
	[[nodiscard]] wire::Version highest_version() const noexcept { return highest_version_; }
	/* That of the last Call, in which those of the reverse direction go as well. */
	[[nodiscard]] wire::Version version() const noexcept { return version_.read(); }
	/* A Call has come in that version. */
	void spoken(wire::Version version) noexcept
	{
		if (this->version() != version) [[unlikely]]
			change_version(version);
	}
	/* A message of the requester's is dropped, or answered with an error. */
	[[gnu::noinline]] void refused(const char *reason) noexcept;
	[[nodiscard]] verbs::Tallies &tallies() noexcept { return tallies_; }
	/* observe.cc */
	void observe(rpcordma_connection &to) noexcept override;
	/* Says whether a Call counts as one from a reserved port. */
	void judge_port(svc_rqst *rqst) const noexcept { rpcordma_rqst_set_secure(rqst, has_secure_port_); }
	/* The thread is done with a Call. One that sunrpc has deferred is judged by what the thread has left: from 6.5 on nobody is
	 * asked again. Where ports count, that must be nothing. */
	void forget_port(svc_rqst *rqst) const noexcept
	{
		if (rpcordma_svc_reserved_ports != 0) [[unlikely]]
			rpcordma_rqst_set_secure(rqst, false);
	}

    private:
	[[nodiscard]] bool start(ConnectRequest &request) noexcept;
	void set_addresses(rdma_cm_id *id) noexcept;
	void change_version(wire::Version version) noexcept;
	void begin_end() noexcept RPCORDMA_EXCLUDES(end_lock_);
	void end() noexcept RPCORDMA_EXCLUDES(end_lock_);
	void received(verbs::ReceiveBuffer &buffer) noexcept override;
	void lost(const verbs::Ending &why) noexcept override RPCORDMA_EXCLUDES(end_lock_);
	void room() noexcept override;
	void established() noexcept override;
	bool look() noexcept override;
	[[nodiscard]] bool awaits_room() noexcept override { return postings_.is_crowded(); }

	Counted counted_{live_objects.connections};
	kernel::Opaque<svc_xprt> xprt_;
	kernel::Owned<verbs::Endpoint> endpoint_;
	/* Whoever uses the device on behalf of the endpoint is inside, except for its completions and events. */
	kernel::Gate gate_;
	kernel::Opaque<work_struct> ending_;
	/* Ordered against the endpoint's loss: see start(). */
	kernel::Atomic<bool> is_accepted_{false};
	/* Held while the end begins, for those that wait for it. */
	kernel::SpinLock end_lock_{RPCORDMA_LOCK_CONNECTION};
	/* Why the connection was lost, where it was. */
	verbs::Ending why_ RPCORDMA_GUARDED_BY(end_lock_);
	/* Ordered against the reverse transport's being there: see begin_end() and ReverseRequester::open(). */
	kernel::Atomic<bool> is_ending_{false};
	const wire::Version highest_version_{rpcordma_svc_highest_version};
	/* Ordered against nothing: a message is of one version or the other. */
	kernel::Atomic<wire::Version> version_{wire::Version::one};
	/* When it was established, in seconds; 0 where it has not been. Ordered against nothing. */
	kernel::Atomic<std::uint64_t> established_at_{0};
	/* The requester's address, with its port. */
	rpcordma_address remote_{};
	proto::Requester requester_{};
	bool has_secure_port_ = false;
	verbs::Tallies tallies_;
	Postings postings_{*this};
	Calls calls_{*this};
	Replies replies_{*this};
	ReverseRequester reverse_{*this};
};

} // namespace rpcordma::server
