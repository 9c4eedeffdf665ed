/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts of live objects: all zero when the module is unloaded, or something leaked. */
#pragma once

#include <atomic>

namespace rpcordma {

struct LiveObjects {
	std::atomic<long> transports;
	std::atomic<long> endpoints;
	std::atomic<long> requests;
	std::atomic<long> registrations;
	std::atomic<long> mapped_pages;
	std::atomic<long> receive_buffers;
	std::atomic<long> send_buffers;
	std::atomic<long> transfers;
	std::atomic<long> listeners;
	std::atomic<long> connect_requests;
	std::atomic<long> connections;
	std::atomic<long> calls;
	std::atomic<long> pulls;
	std::atomic<long> held_pages;
	std::atomic<long> pushes;
	std::atomic<long> offered_calls;
};

extern LiveObjects live_objects;

/* Counts its owner's life in one of the above. */
class Counted {
    public:
	explicit Counted(std::atomic<long> &count) noexcept
		: count_(count)
	{
		count_.fetch_add(1, std::memory_order_relaxed);
	}
	~Counted() { count_.fetch_sub(1, std::memory_order_relaxed); }
	Counted(const Counted &) = delete;
	Counted &operator=(const Counted &) = delete;

    private:
	std::atomic<long> &count_;
};

} // namespace rpcordma
