/* SPDX-License-Identifier: GPL-2.0-only */
/* Who uses the queues of a connection. */
#pragma once

namespace rpcordma::verbs {

class ReceiveBuffer;

/* Called in process context, by completions of the connection and by the growth of its registrations. */
struct QueueUser {
	/* A message came. The user owns the buffer until it gives it back to the ReceiveQueue. */
	virtual void received(ReceiveBuffer &buffer) noexcept = 0;
	/* There may be more room in the send queue, or more registrations, where there was none. */
	virtual void room() noexcept = 0;
	/* A queue keeps what it may not need for long: see Queues::trim(). Comes while the connection is used, now and then. */
	virtual void has_spares() noexcept {}
	/* A queue failed, and how: the connection is no longer of use. */
	virtual void failed(const char *queue, const char *how) noexcept = 0;
	/* Return: whether swap lies on the other side. Memory that is short then comes back only through the connection. */
	[[nodiscard]] virtual bool carries_swap() noexcept { return false; }

    protected:
	~QueueUser() = default;
};

} // namespace rpcordma::verbs
