/* SPDX-License-Identifier: GPL-2.0-only */
/* The connection manager's identifier of one connection: finds the peer, connects, and hears of events. */
#pragma once

#include <optional>

#include "kernel/atomic.hh"
#include "kernel/sync.hh"
#include "proto/connection.hh"
#include "wire/private_data.hh"

namespace rpcordma::verbs {

/* Where a connection is to lead. */
struct Route {
	net *network;
	const sockaddr *destination;
	/* Null for any. */
	sockaddr *source;
	/* A reserved port of this machine's, as long as there is one left. */
	bool reserved_port;
};

/* Owns its rdma_cm_id. Functions are for process context. */
class Identifier {
    public:
	/* Who is told of events. Process context. */
	struct User {
		/* A connection that was accepted is established. */
		virtual void established() noexcept = 0;
		/* The connection is over, or its device is going. May come more than once. */
		virtual void ended(const char *event) noexcept = 0;

	    protected:
		~User() = default;
	};

	explicit Identifier(User &user) noexcept
		: user_(user)
	{
	}
	/* destroy() has been called. */
	~Identifier() = default;

	/* Finds the device that leads to a destination, within some seconds.
	 * Return: connected, or why there can be no connection. */
	[[nodiscard]] proto::ConnectOutcome resolve(const Route &route) noexcept;
	/* Connects, within `patience` jiffies, and says `own` to the peer. */
	[[nodiscard]] proto::ConnectOutcome connect(const wire::PrivateData &own, unsigned long patience) noexcept;

	/* Takes over that of a connection that wants to be accepted, in any case. `still_there` is asked while no event can
	 * come.
	 * Return: what it said. */
	template <typename Question> [[nodiscard]] bool adopt(rdma_cm_id *id, Question still_there) noexcept
	{
		rdma_lock_handler(id);
		const bool is_there = still_there();
		take_over(id);
		rdma_unlock_handler(id);
		return is_there;
	}
	/* Accepts, and says `own` to the peer. `reads` RDMA Reads at a time were offered, `own_reads` are.
	 * Return: false where the connection is no more. */
	[[nodiscard]] bool accept(const wire::PrivateData &own, u8 reads, u8 own_reads) noexcept;
	/* What was agreed with the peer whose private data came with its request. */
	void agree(const std::optional<wire::PrivateData> &requester, const wire::PrivateData &own) noexcept
	{
		said_ = requester;
		agreement_ = proto::agree(requester.value_or(wire::PrivateData{}), own);
	}

	/* Waits for an event that is on its way to the user. */
	void flush() noexcept
	{
		rdma_lock_handler(id_);
		rdma_unlock_handler(id_);
	}
	void disconnect() noexcept { rdma_disconnect(id_); }
	/* The user is told of no event any more. Its device may go. An event that is on its way is waited for, and finds the
	 * identifier. The disconnect request is repeated to a responder that has not answered it: see Disconnection. */
	void destroy() noexcept;

	[[nodiscard]] rdma_cm_id *get() const noexcept { return id_; }
	[[nodiscard]] ib_device *device() const noexcept { return kernel::field::rdma_cm_id::device(id_); }
	[[nodiscard]] const char *device_name() const noexcept { return kernel::field::ib_device::name(device()); }
	[[nodiscard]] ib_qp *queue_pair() const noexcept { return kernel::field::rdma_cm_id::qp(id_); }
	[[nodiscard]] u32 port() const noexcept { return kernel::field::rdma_cm_id::port_num(id_); }
	[[nodiscard]] const sockaddr *source() const noexcept
	{
		return reinterpret_cast<const sockaddr *>(&kernel::field::rdma_cm_id::source(id_));
	}
	[[nodiscard]] const sockaddr *destination() const noexcept
	{
		return reinterpret_cast<const sockaddr *>(&kernel::field::rdma_cm_id::destination(id_));
	}
	[[nodiscard]] const proto::Agreement &agreement() const noexcept { return agreement_; }
	/* The peer's private data, where it sent some. */
	[[nodiscard]] const std::optional<wire::PrivateData> &said() const noexcept { return said_; }
	/* RDMA Reads that the peer takes at a time. Where that is 0, none may be posted. */
	[[nodiscard]] u8 reads() const noexcept { return reads_; }
	[[nodiscard]] bool is_established() const noexcept { return established_.read(); }

    private:
	using Outcome = proto::ConnectOutcome;

	static int event_handler(rdma_cm_id *id, rdma_cm_event *event);
	void event(rdma_cm_event *event) noexcept;
	void step_ended(proto::ConnectEvent event, int status) noexcept;
	/* Waits for the event that ends a step. `started` is the errno of its beginning. */
	[[nodiscard]] Outcome step(int started, unsigned long patience) noexcept;
	void take_over(rdma_cm_id *id) noexcept;

	User &user_;
	rdma_cm_id *id_ = nullptr;
	bool is_acceptor_ = false;
	wire::PrivateData own_;
	std::optional<wire::PrivateData> said_;
	proto::Agreement agreement_ = proto::agree({}, {});
	u8 reads_ = 0;
	/* What an event says to the step that waits for it. */
	kernel::Completion step_done_;
	Outcome step_outcome_ = Outcome::try_again;
	/* Whether Disconnection::is_needless_after() was true of an event. Written by events only. */
	bool is_over_ = false;
	/* What is read of the connection's agreement is ordered by step_done_. The acceptor's is ordered against messages that came
	 * before: see server::Connection::received(). */
	kernel::Atomic<bool> established_{false};
};

} // namespace rpcordma::verbs
