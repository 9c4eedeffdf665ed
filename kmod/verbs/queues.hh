/* SPDX-License-Identifier: GPL-2.0-only */
/* What one connection has of its device: protection domain, completion queue, queue pair, and what they are used through. */
#pragma once

#include "kernel/atomic.hh"
#include "kernel/heap.hh"
#include "verbs/depths.hh"
#include "verbs/queue_user.hh"
#include "verbs/receive_queue.hh"
#include "verbs/registration.hh"
#include "verbs/send_queue.hh"

namespace rpcordma::verbs {

/* How large the queues are. */
struct QueueSizes {
	Depths depths;
	/* RDMA Reads and Writes of our own that are posted at a time, where each takes a registration. */
	std::uint32_t transfers;
	/* The largest messages, in bytes. */
	std::uint32_t send_size;
	std::uint32_t receive_size;
	/* How many registrations there may be, and are from the start: see RequesterDepths. */
	std::uint32_t most_registrations;
	std::uint32_t first_registrations;
	/* Receives that are posted from the start. */
	std::uint32_t first_receives;
};

/* Made in one go, used, stopped, freed, and perhaps made again. Its owner sees to it that one comes after the other. */
class Queues {
    public:
	explicit Queues(QueueUser &user) noexcept;
	/* free() has been called. */
	~Queues() = default;

	/* Makes all of it, with the queue pair as that of `id`. Process context.
	 * Return: false where the device or the machine lacks something; free() is due. */
	[[nodiscard]] bool make(rdma_cm_id *id, const QueueSizes &sizes) noexcept;
	/* The peers have agreed on the largest messages, in bytes. To be called before anything is sent. Process context.
	 * Return: false where the machine lacks memory. */
	[[nodiscard]] bool agree(std::uint32_t send_size, std::uint32_t receive_size) noexcept;
	/* Frees what the connection has kept and not needed since the last call. Process context.
	 * Return: whether another call may free more. */
	bool trim() noexcept;
	/* Nothing is posted from here on, nor does anything fail: for draining. Process context. */
	void stop() noexcept;
	/* Frees in the reverse order of making. What arrived stays readable, and is given back still. Process context. */
	void free(rdma_cm_id *id) noexcept;

	[[nodiscard]] ReceiveQueue &receives() noexcept { return *receives_; }
	[[nodiscard]] SendQueue &sends() noexcept { return *sends_; }
	[[nodiscard]] RegistrationPool &registrations() noexcept { return *registrations_; }
	/* Whether the device has made one: where make() fails all the same, something else is lacking. */
	[[nodiscard]] bool has_queue_pair() const noexcept { return has_queue_pair_; }
	/* The number that others know the queue pair by. */
	[[nodiscard]] u32 queue_pair_number() const noexcept { return queue_pair_number_; }

    private:
	[[nodiscard]] bool make_queue_pair(rdma_cm_id *id, const QueueSizes &sizes) noexcept;
	/* Of the device's, in any context. */
	static void event(ib_event *event, void *queues);

	QueueUser &user_;
	/* The error that the device has found in the queue pair, an ib_event_type, for the work that reports it,
	 * which is queued after it was written. */
	kernel::Atomic<unsigned int> error_{0};
	kernel::Opaque<work_struct> error_work_;
	ib_pd *pd_ = nullptr;
	ib_cq *cq_ = nullptr;
	bool has_queue_pair_ = false;
	/* Who looks does not find it by the identifier, which has no queue pair while it accepts: see rpcordma_accept(). */
	u32 queue_pair_number_ = 0;
	kernel::Owned<ReceiveQueue> receives_;
	kernel::Owned<SendQueue> sends_;
	kernel::Owned<RegistrationPool> registrations_;
};

} // namespace rpcordma::verbs
