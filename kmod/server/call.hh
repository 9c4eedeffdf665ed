/* SPDX-License-Identifier: GPL-2.0-only */
/* What the responder holds for one RPC. */
#pragma once

#include <array>

#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "proto/arrival.hh"
#include "proto/assembly.hh"
#include "proto/failures.hh"
#include "proto/response.hh"
#include "verbs/live.hh"
#include "verbs/outbox.hh"
#include "verbs/receive_queue.hh"

namespace rpcordma::server {

class Connection;

/* The pages of an RPC that a device works on. */
class Pages {
    public:
	/* What an RPC can have at most: 1 MiB, and what stands around it. */
	static constexpr std::uint32_t most = 260;

	Pages() = default;
	~Pages()
	{
		release();
	}
	Pages(const Pages &) = delete;
	Pages &operator=(const Pages &) = delete;

	/* Takes `count` pages out of an array of the upper layer's. */
	void take(page **from, std::uint32_t count) noexcept;
	/* Puts them back into such an array in the place of others, which are freed. */
	void give(page **to) noexcept;
	void release() noexcept;

	[[nodiscard]] std::uint32_t count() const noexcept
	{
		return count_;
	}
	[[nodiscard]] page *operator[](std::uint32_t n) const noexcept
	{
		return pages_[n];
	}

    private:
	std::array<page *, most> pages_;
	std::uint32_t count_ = 0;
};

class ServedCall;

/* RDMA Reads of a Call's chunks. */
class Pull final : public kernel::Heap, public kernel::ListNode<Pull>, public verbs::Posting {
    public:
	explicit Pull(Action done) noexcept
		: Posting(done)
	{
	}

	Pages pages;
	ServedCall *call = nullptr;

    private:
	Counted counted_{live_objects.pulls};
};

/* A message with memory of its own: a Reply and the RDMA Writes of its chunks, or one that had to wait for room. Up to the
 * completion of the Send. */
class Push final : public kernel::Heap, public kernel::ListNode<Push>, public verbs::Posting {
    public:
	Push(Connection &connection, Action done) noexcept
		: Posting(done)
		, owner(connection)
	{
	}

	Connection &owner;
	Pages pages;

    private:
	Counted counted_{live_objects.pushes};
};

/* A Call, from its arrival until sunrpc releases it. It refers to the message that it came in all that time. */
class ServedCall final : public kernel::Heap, public kernel::ListNode<ServedCall> {
    public:
	explicit ServedCall(Connection &connection) noexcept
		: owner(connection)
	{
	}

	Connection &owner;
	verbs::ReceiveBuffer *message = nullptr;
	proto::Call call{};
	/* Where it has chunks. */
	proto::Transaction transaction{};
	proto::Assembly assembly;
	proto::ReducedItems items;
	/* What the upper layer is given of the message, to read and not to write. */
	[[nodiscard]] std::byte *payload() const noexcept
	{
		return const_cast<std::byte *>(call.payload.data());
	}
	/* Whether the items that the upper layer names travel by Write chunks. */
	bool may_reduce = false;
	/* Whether it counts as one that the requester waits for an answer to. */
	bool is_outstanding = false;
	/* Whether the upper layer has it. */
	bool is_served = false;

    private:
	Counted counted_{live_objects.calls};
};

} // namespace rpcordma::server
