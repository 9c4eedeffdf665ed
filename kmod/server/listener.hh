/* SPDX-License-Identifier: GPL-2.0-only */
/* The responder's listener: one of sunrpc's svc_xprt, the connections that wait to be accepted, and those that wait for
 * their turn before. */
#pragma once

#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "kernel/sync.hh"
#include "proto/admission.hh"
#include "verbs/live.hh"
#include "verbs/observed.hh"
#include "wire/private_data.hh"

namespace rpcordma::server {

class Listener;

/* A connection that wants to be accepted. Its identifier is its own until somebody takes that over. */
struct ConnectRequest final : kernel::Heap, kernel::ListNode<ConnectRequest> {
	ConnectRequest(Listener &asked, rdma_cm_id *its) noexcept
		: listener(asked)
		, id(its)
	{
	}

	Listener &listener;
	rdma_cm_id *const id;
	std::optional<wire::PrivateData> requester;
	/* RDMA Reads that the requester bears at a time. */
	u8 reads = 0;
	/* What it wants to read itself: chunks of the reverse direction. */
	u8 own_reads = 0;
	/* Nobody is at the other end any more. Changes in events only. */
	bool is_gone = false;
	/* When it may be accepted, in nanoseconds of ktime_get(). */
	std::uint64_t turn = 0;
	/* The list that it waits in; null when somebody has taken it over. Guarded by the listener's lock. */
	kernel::List<ConnectRequest> *in = nullptr;

    private:
	Counted counted_{live_objects.connect_requests};
};

/* Owned by sunrpc through the reference count of its svc_xprt. Lives on when its device goes away or its address changes,
 * and listens again when it can. */
class Listener final : public kernel::Heap, private verbs::ObservedListener {
    public:
	/* Listens on an address; an error pointer where it cannot. Process context. */
	[[nodiscard]] static svc_xprt *create(svc_xprt_class *xprt_class, svc_serv *server, net *network,
					      const sockaddr *address) noexcept;
	[[nodiscard]] static Listener &of(svc_xprt *xprt) noexcept;

	Listener(svc_xprt_class *xprt_class, svc_serv *server, net *network, const sockaddr *address) noexcept;

	/* Accepts the next connection that waits; null where none does, or where it came to nothing. Process context. */
	[[nodiscard]] svc_xprt *accept() noexcept RPCORDMA_EXCLUDES(lock_);
	/* Ends listening, and the connections that wait. Process context. */
	void detach() noexcept RPCORDMA_EXCLUDES(lock_);

    private:
	static int event_handler(rdma_cm_id *id, rdma_cm_event *event);
	static int waiting_event_handler(rdma_cm_id *id, rdma_cm_event *event);
	[[nodiscard]] svc_xprt *xprt() noexcept { return xprt_.get(); }
	void observe(rpcordma_listener &to) noexcept override RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] const sockaddr *address() const noexcept
	{
		return reinterpret_cast<const sockaddr *>(address_.get());
	}
	[[nodiscard]] int listen() noexcept RPCORDMA_EXCLUDES(lock_);
	void listen_again() noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] int ask(rdma_cm_id *id, rdma_cm_event *event) noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] const char *keep_waiting(ConnectRequest &request) noexcept RPCORDMA_EXCLUDES(lock_);
	void let_in() noexcept RPCORDMA_EXCLUDES(lock_);
	void move(ConnectRequest &request, kernel::List<ConnectRequest> &to) noexcept RPCORDMA_REQUIRES(lock_);
	[[nodiscard]] int lose(rdma_cm_id *id, const char *event) noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] kernel::Owned<ConnectRequest> next() noexcept RPCORDMA_EXCLUDES(lock_);

	Counted counted_{live_objects.listeners};
	kernel::Opaque<svc_xprt> xprt_;
	kernel::Opaque<sockaddr_storage> address_;
	kernel::Opaque<delayed_work> again_;
	kernel::Opaque<delayed_work> letting_in_;
	/* The time to the next attempt, in jiffies. Used by one attempt at a time. */
	unsigned long delay_ = 0;
	kernel::SpinLock lock_{RPCORDMA_LOCK_LISTENER};
	/* Null while there is nothing to listen on. */
	rdma_cm_id *id_ RPCORDMA_GUARDED_BY(lock_) = nullptr;
	/* The last identifier that became useless while it was none of ours, or not yet. */
	rdma_cm_id *useless_ RPCORDMA_GUARDED_BY(lock_) = nullptr;
	bool is_detached_ RPCORDMA_GUARDED_BY(lock_) = false;
	kernel::List<ConnectRequest> waiting_ RPCORDMA_GUARDED_BY(lock_);
	/* Their turn is to come. */
	kernel::List<ConnectRequest> early_ RPCORDMA_GUARDED_BY(lock_);
	/* Who has asked. */
	proto::Admission<64> admission_ RPCORDMA_GUARDED_BY(lock_);
};

} // namespace rpcordma::server
