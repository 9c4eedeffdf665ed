/* SPDX-License-Identifier: GPL-2.0-only */
/* One RDMA connection, from the resolution of its address to the release of its last resource. */
#pragma once

#include <atomic>
#include <expected>

#include "kernel/heap.hh"
#include "kernel/sync.hh"
#include "proto/connection.hh"
#include "verbs/depths.hh"
#include "verbs/live.hh"
#include "verbs/receive_queue.hh"
#include "verbs/registration.hh"
#include "verbs/send_queue.hh"
#include "wire/private_data.hh"

namespace rpcordma::verbs {

/* What a connection is wanted for. */
struct EndpointWishes {
	net *network;
	const sockaddr *destination;
	/* Null for any. */
	sockaddr *source;
	/* Of this machine's; as long as there is one left. */
	bool reserved_port;
	RequesterLoad load;
	/* Receives that are posted for Calls of the reverse direction from the start. */
	std::uint32_t reverse_receives;
	/* RDMA Reads and Writes for the chunks of each of them. */
	std::uint32_t reverse_transfers;
	wire::PrivateData own;
};

/* What an arriving connection is accepted for. */
struct AcceptWishes {
	ResponderLoad load;
	/* Registrations, for chunks of the reverse direction. */
	std::uint32_t registrations;
	wire::PrivateData own;
};

/* The only owner of its connection manager's identifier, protection domain, completion queue and queue pair. Nothing of
 * the connection is used after the destructor, which waits until the device has let go of all memory. */
class Endpoint final : public kernel::Heap,
		       private ReceiveQueue::Listener,
		       private SendQueue::Listener,
		       private RegistrationPool::Listener {
    public:
	/* Who uses the connection. Called in process context. After stop() only established() may still come, but for
	 * completions that stop() waits for; an acceptor's lost() may come as soon as adopt() has begun. */
	struct User {
		/* A message came; the user gives the buffer back to receives(). */
		virtual void received(ReceiveBuffer &buffer) noexcept = 0;
		/* The connection is lost, or has to be given up. May come more than once. */
		virtual void lost() noexcept = 0;
		/* What there was not enough of may be there now. */
		virtual void room() noexcept = 0;
		/* Whether swap lies behind it. */
		[[nodiscard]] virtual bool carries_swap() noexcept
		{
			return false;
		}
		/* A connection that was accepted is established. */
		virtual void established() noexcept {}

	    protected:
		~User() = default;
	};

	/* Finds the device that leads to the destination, and makes all that a connection takes. Some seconds at most.
	 * Process context. Errors: why there can be no connection. */
	[[nodiscard]] static std::expected<kernel::Owned<Endpoint>, proto::ConnectOutcome>
	create(const EndpointWishes &wishes, User &user) noexcept;
	/* Connects, within `patience` jiffies. The user is called from here on. Where the outcome is another than
	 * connected, stop() is due. Process context. */
	[[nodiscard]] proto::ConnectOutcome establish(unsigned long patience) noexcept;

	/* Takes over the identifier of a connection that wants to be accepted, in any case, and makes all that it takes.
	 * `still_there` is asked while no event can come. Process context. Errors as those of create(). */
	template <typename Question>
	[[nodiscard]] static std::expected<kernel::Owned<Endpoint>, proto::ConnectOutcome>
	adopt(rdma_cm_id *id, const wire::PrivateData &requester, const AcceptWishes &wishes, User &user,
	      Question still_there) noexcept
	{
		kernel::Owned<Endpoint> endpoint(new (kernel::GFP_KERNEL) Endpoint(user));
		if (!endpoint) {
			rdma_destroy_id(id);
			return std::unexpected(Outcome::try_again);
		}
		rdma_lock_handler(id);
		const bool is_there = still_there();
		endpoint->take_over(id);
		rdma_unlock_handler(id);
		if (!is_there)
			return std::unexpected(Outcome::host_unreachable);
		if (const Outcome outcome = endpoint->make_acceptable(requester, wishes); outcome != Outcome::connected)
			return std::unexpected(outcome);
		return endpoint;
	}
	/* Accepts; established() says when that is through. RDMA Reads at a time: `reads` is what the requester offered,
	 * `own_reads` what it may have of us. False: stop() is due. Process context. */
	[[nodiscard]] bool accept(u8 reads, u8 own_reads) noexcept;

	explicit Endpoint(User &user) noexcept;
	/* stop() has been called, or neither establish() nor accept(). Process context. */
	~Endpoint();

	/* Disconnects and waits until the device has let go of all memory: nothing is received, sent or registered
	 * afterwards, and no peer reaches anything. Process context. */
	void stop() noexcept;
	/* Frees all that is the device's, which may then go, in the reverse order of making. What arrived stays readable, and
	 * its buffers are given back still; nothing else of the endpoint is used any more. stop() has been called, or neither
	 * establish() nor accept(). Process context. */
	void dismantle() noexcept;
	/* Starts a disconnection as if the peer had. */
	void break_off() noexcept;

	[[nodiscard]] const proto::Agreement &agreement() const noexcept
	{
		return agreement_;
	}
	/* The number of calls that the connection can have outstanding. */
	[[nodiscard]] std::uint32_t credits() const noexcept
	{
		return credits_;
	}
	[[nodiscard]] ReceiveQueue &receives() noexcept
	{
		return *receives_;
	}
	[[nodiscard]] SendQueue &sends() noexcept
	{
		return *sends_;
	}
	[[nodiscard]] RegistrationPool &registrations() noexcept
	{
		return *registrations_;
	}
	/* The most segments that the chunks of one RPC may have together. */
	[[nodiscard]] std::uint32_t most_segments() const noexcept
	{
		return most_segments_;
	}
	/* The most segments that one Call's RDMA Reads may have, where each takes a registration of its own. */
	[[nodiscard]] std::uint32_t most_read_segments() const noexcept
	{
		return most_read_segments_;
	}
	[[nodiscard]] const sockaddr *source() const noexcept
	{
		return reinterpret_cast<const sockaddr *>(&kernel::field::rdma_cm_id::source(id_));
	}
	[[nodiscard]] const sockaddr *destination() const noexcept
	{
		return reinterpret_cast<const sockaddr *>(&kernel::field::rdma_cm_id::destination(id_));
	}
	[[nodiscard]] const char *device_name() const noexcept
	{
		return kernel::field::ib_device::name(kernel::field::rdma_cm_id::device(id_));
	}
	/* RDMA Reads that the peer takes at a time; without any, none may be posted. */
	[[nodiscard]] u8 reads() const noexcept
	{
		return reads_;
	}
	/* For transfers. */
	[[nodiscard]] ib_qp *queue_pair() const noexcept
	{
		return kernel::field::rdma_cm_id::qp(id_);
	}
	[[nodiscard]] u32 port() const noexcept
	{
		return kernel::field::rdma_cm_id::port_num(id_);
	}
	[[nodiscard]] bool is_established() const noexcept
	{
		return established_.load();
	}
	[[nodiscard]] bool is_lost() const noexcept
	{
		return lost_.load();
	}
	/* Gives the connection up for a reason of the user's. */
	void lose(const char *reason, const char *detail) noexcept;

    private:
	using Outcome = proto::ConnectOutcome;

	static int event_handler(rdma_cm_id *id, rdma_cm_event *event);
	void event(unsigned int kind, rdma_cm_event *event) noexcept;
	void acceptor_event(unsigned int kind) noexcept;
	void attempt_ended(proto::ConnectEvent event, int status) noexcept;
	/* Of the device's, in any context. */
	static void queue_pair_event(ib_event *event, void *endpoint);
	/* Waits for the event that ends a step. */
	[[nodiscard]] Outcome step(int started, unsigned long patience) noexcept;
	[[nodiscard]] Outcome resolve(const EndpointWishes &wishes) noexcept;
	void bind_reserved_port(const EndpointWishes &wishes) noexcept;
	void take_over(rdma_cm_id *id) noexcept;
	[[nodiscard]] Outcome make_acceptable(const wire::PrivateData &requester, const AcceptWishes &wishes) noexcept;
	[[nodiscard]] bool can_register() const noexcept;
	[[nodiscard]] Outcome cannot_use(Lack lack) const noexcept;
	[[nodiscard]] Outcome create_queues(const EndpointWishes &wishes) noexcept;
	/* `transfers`: RDMA Reads and Writes of our own, where each takes a registration. */
	[[nodiscard]] bool create_queues(const Depths &depths, std::uint32_t transfers, std::uint32_t send_size,
					 std::uint32_t receive_size) noexcept;
	[[nodiscard]] bool create_queue_pair(ib_device *device, const Depths &depths, std::uint32_t transfers) noexcept;
	[[nodiscard]] bool make_registrations(std::uint32_t most, std::uint32_t first) noexcept;
	[[nodiscard]] bool fill_queues(std::uint32_t reverse_receives) noexcept;

	void received(ReceiveBuffer &buffer) noexcept override;
	void receive_failed(const char *how) noexcept override;
	void send_room() noexcept override;
	void send_failed(const char *how) noexcept override;
	void more_registrations() noexcept override;
	[[nodiscard]] bool carries_swap() noexcept override;

	Counted counted_{live_objects.endpoints};
	User &user_;
	/* The error that the device has found in the queue pair, for who can act on it: an ib_event_type. */
	std::atomic<unsigned int> queue_pair_error_{0};
	kernel::Opaque<work_struct> error_work_;
	rdma_cm_id *id_ = nullptr;
	ib_pd *pd_ = nullptr;
	ib_cq *cq_ = nullptr;
	bool has_queue_pair_ = false;
	bool is_acceptor_ = false;
	kernel::Owned<ReceiveQueue> receives_;
	kernel::Owned<SendQueue> sends_;
	kernel::Owned<RegistrationPool> registrations_;
	wire::PrivateData own_;
	proto::Agreement agreement_ = proto::agree({}, {});
	std::uint32_t credits_ = 0;
	std::uint32_t most_segments_ = 0;
	std::uint32_t most_read_segments_ = 0;
	u8 reads_ = 0;

	/* What an event says to the step that waits for it. */
	kernel::Completion step_done_;
	Outcome step_outcome_ = Outcome::try_again;
	std::atomic<bool> established_{false};
	std::atomic<bool> lost_{false};
};

} // namespace rpcordma::verbs
