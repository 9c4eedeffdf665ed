/* SPDX-License-Identifier: GPL-2.0-only */
/* A peer that takes nothing any more. */
#pragma once

#include <cstdint>
#include <utility>

#include "verbs/send_queue.hh"

namespace rpcordma::verbs {

/* Finds that nothing of a send queue completes for 20 to 30 seconds, though something is owed: a peer that takes no message for so
 * long, or answers no RDMA Read, has lost them. A device that waits for a peer without Receives may do so without end. One for each
 * connection; looks alone use it. */
class Standstill final {
    public:
	/* Is called every ten seconds. `progress` is of now. Context: any.
	 * Return: whether the connection is to be given up. */
	[[nodiscard]] bool look(SendQueue::Progress progress) noexcept
	{
		const bool has_moved = std::exchange(retired_, progress.retired) != progress.retired;
		if (!progress.is_owed)
			idle_looks_ = 0;
		else if (has_moved)
			idle_looks_ = 1;
		else
			idle_looks_++;
		return idle_looks_ >= most_idle_looks;
	}

    private:
	static constexpr std::uint32_t most_idle_looks = 3;

	/* What had been done with at the last look, and how many in a row have seen something that does not move. */
	std::uint32_t retired_ = 0;
	std::uint32_t idle_looks_ = 0;
};

} // namespace rpcordma::verbs
