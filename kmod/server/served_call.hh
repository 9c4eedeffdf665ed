/* SPDX-License-Identifier: GPL-2.0-only */
/* What the responder holds for one RPC. */
#pragma once

#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "proto/arrival.hh"
#include "proto/assembly.hh"
#include "proto/failures.hh"
#include "proto/response.hh"
#include "server/pages.hh"
#include "server/traffic.hh"
#include "verbs/live.hh"
#include "verbs/outbox.hh"
#include "verbs/receive_queue.hh"

namespace rpcordma::server {

class Connection;
class ServedCall;

/* The RDMA Reads of a Call's chunks. */
class Pull final : public kernel::Heap, public kernel::ListNode<Pull>, public verbs::Posting {
    public:
	explicit Pull(Action done) noexcept
		: Posting(done)
	{
	}

	Pages pages;
	ServedCall *call = nullptr;
	Moved moved;

    private:
	Counted counted_{live_objects.pulls};
};

/* A Reply and the RDMA Writes of its chunks, or a message that waits for room; until its Send has completed. */
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

/* A Call, from its arrival until sunrpc releases it. It refers to the message that it came in for all that time. */
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
	/* What the upper layer has of the message. It writes where it deciphers that (sec=krb5p). */
	[[nodiscard]] std::byte *payload() const noexcept { return const_cast<std::byte *>(call.payload.data()); }
	/* Whether the items that the upper layer names travel by Write chunks. */
	bool may_reduce = false;
	/* Whether the requester still waits for an answer to it. */
	bool is_outstanding = false;
	/* Whether the upper layer has it. */
	bool is_served = false;

    private:
	Counted counted_{live_objects.calls};
};

} // namespace rpcordma::server
