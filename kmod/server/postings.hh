/* SPDX-License-Identifier: GPL-2.0-only */
/* What a connection of the responder's has posted, or will post when there is room. */
#pragma once

#include "verbs/outbox.hh"
#include "verbs/transfer.hh"

namespace rpcordma::server {

class Connection;

/* RDMA Reads, RDMA Writes and messages. */
class Postings final : private verbs::Outbox::Listener {
    public:
	explicit Postings(Connection &connection) noexcept
		: connection_(connection)
	{
	}
	/* Before anything is posted. */
	void begin() noexcept;

	/* Posts a message by itself, where that can be done at once.
	 * Return: false where it cannot; then it is to be put as a Posting. */
	[[nodiscard]] bool post(verbs::SendBuffer &message, std::uint32_t size, std::optional<u32> invalidate) noexcept
	{
		return outbox_.post(message, size, invalidate);
	}
	/* Posts it when its turn has come and there is room. Process context; may sleep for memory. */
	void put(verbs::Posting &posting) noexcept { outbox_.put(posting); }
	/* Whether something waits for room. */
	[[nodiscard]] bool is_crowded() const noexcept { return outbox_.is_crowded(); }
	/* Appends an RDMA Read or Write of a segment to `to`: see verbs::TransferPool::append(). Sleeps for memory. */
	template <typename Next>
	[[nodiscard]] bool append(const wire::Segment &segment, verbs::Direction direction, std::uint32_t pieces,
				  Next next, verbs::Transfers &to) noexcept
	{
		return transfers_.append({qp_, port_, segment, direction}, pieces, kernel::GFP_KERNEL, next, to);
	}
	/* A posting has completed: remembers whether the requester is at fault, and takes the transfers back. */
	void done(verbs::Posting &posting) noexcept;
	/* Takes transfers back: they have completed, or never will. */
	void finish(verbs::Transfers &transfers) noexcept { transfers_.finish(transfers); }
	/* There may be more room. Process context. */
	void room() noexcept { outbox_.room(); }
	/* Frees what was not needed since the last call. Process context.
	 * Return: whether another call may free more. */
	bool trim() noexcept { return transfers_.trim(); }
	/* The end: nothing completes any more. */
	void clear() noexcept { outbox_.clear(); }

    private:
	void posting_waits(wire::Xid xid) noexcept override;
	void outbox_is_empty() noexcept override;
	void posted_in_part(const verbs::Posting &posting) noexcept override;
	void not_prepared() noexcept override;

	Connection &connection_;
	ib_qp *qp_ = nullptr;
	u32 port_ = 0;
	verbs::TransferPool transfers_;
	verbs::Outbox outbox_{*this};
};

} // namespace rpcordma::server
