/* SPDX-License-Identifier: GPL-2.0-only */
/* One RDMA connection, from the resolution of its address to the release of its last resource. */
#pragma once

#include <algorithm>
#include <expected>

#include "kernel/atomic.hh"
#include "kernel/heap.hh"
#include "verbs/identifier.hh"
#include "verbs/live.hh"
#include "verbs/observed.hh"
#include "verbs/probe.hh"
#include "verbs/queues.hh"
#include "verbs/standstill.hh"

namespace rpcordma::verbs {

/* What a requester's connection is wanted for. */
struct EndpointWishes {
	Route route;
	RequesterLoad load;
	/* Receives that are posted for Calls of the reverse direction from the start. */
	std::uint32_t reverse_receives;
	/* RDMA Reads and Writes for the chunks of each of them. */
	std::uint32_t reverse_transfers;
	/* The highest version that may be spoken: buffers are large enough for all. */
	wire::Version highest_version;
	wire::PrivateData own;
};

/* What an arriving connection is accepted for. */
struct AcceptWishes {
	ResponderLoad load;
	/* Registrations, for chunks of the reverse direction. */
	std::uint32_t registrations;
	/* As in EndpointWishes. */
	wire::Version highest_version;
	wire::PrivateData own;
};

/* What a connection can carry at a time. */
struct Capacity {
	/* Calls that are outstanding. */
	std::uint32_t credits = 0;
	/* Segments that the chunks of one RPC have together. */
	std::uint32_t segments = 0;
	/* Bytes of the largest payload of a requester's RPC. */
	std::uint32_t payload = 0;
	/* Segments of one Call's RDMA Reads, where each takes a registration of its own. */
	std::uint32_t read_segments = 0;
};

/* The only owner of its identifier and its queues. Nothing of the connection is used after the destructor, which waits until
 * the device has let go of all memory. */
class Endpoint final : public kernel::Heap, private QueueUser, private Identifier::User {
    public:
	/* Who uses the connection. Called in process context. After stop() only established() may still come, and
	 * completions that stop() waits for; an acceptor's lost() may come as soon as adopt() has begun. */
	struct User {
		/* A message came; the user gives the buffer back to receives(). */
		virtual void received(ReceiveBuffer &buffer) noexcept = 0;
		/* The connection is lost, or has to be given up. Once. */
		virtual void lost(const Ending &why) noexcept = 0;
		/* What there was not enough of may be there now. */
		virtual void room() noexcept = 0;
		/* Return: whether swap lies behind it. */
		[[nodiscard]] virtual bool carries_swap() noexcept { return false; }
		/* Comes by from time to time while the connection is used. Frees what was not needed since the last call.
		 * Return: whether it is to come by again. */
		virtual bool look() noexcept { return false; }
		/* Return: whether something is to be posted when there is room. */
		[[nodiscard]] virtual bool awaits_room() noexcept { return false; }
		/* A connection that was accepted is established. */
		virtual void established() noexcept {}

	    protected:
		~User() = default;
	};

	/* Finds the device that leads to the destination, and makes all that a connection takes. Some seconds at most.
	 * Process context.
	 * Return: why there can be no connection, where that is so. */
	[[nodiscard]] static std::expected<kernel::Owned<Endpoint>, proto::ConnectOutcome>
	create(const EndpointWishes &wishes, User &user) noexcept;
	/* Connects, within `patience` jiffies. The user is called from here on. Where the outcome is another than
	 * connected, stop() is due. Process context. */
	[[nodiscard]] proto::ConnectOutcome establish(unsigned long patience) noexcept;

	/* Takes over the identifier of a connection that wants to be accepted, in any case, and makes all that it takes.
	 * `still_there` is asked while no event can come. Process context.
	 * Return: as create(). */
	template <typename Question>
	[[nodiscard]] static std::expected<kernel::Owned<Endpoint>, proto::ConnectOutcome>
	adopt(rdma_cm_id *id, const std::optional<wire::PrivateData> &requester, const AcceptWishes &wishes, User &user,
	      Question still_there) noexcept
	{
		kernel::Owned<Endpoint> endpoint(new (kernel::GFP_KERNEL) Endpoint(user));
		if (!endpoint) {
			rdma_destroy_id(id);
			return std::unexpected(Outcome::try_again);
		}
		if (!endpoint->id_.adopt(id, still_there))
			return std::unexpected(Outcome::host_unreachable);
		if (const Outcome outcome = endpoint->make_queues(requester, wishes); outcome != Outcome::connected)
			return std::unexpected(outcome);
		return endpoint;
	}
	/* Accepts; established() says when that is through. RDMA Reads at a time: `reads` is what the requester offered,
	 * `own_reads` what it may have of us. False: stop() is due. Process context. */
	[[nodiscard]] bool accept(u8 reads, u8 own_reads) noexcept { return id_.accept(own_, reads, own_reads); }

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
	/* The user's look() comes by within ten seconds, unless the connection is lost before, and again as long as something is
	 * owed; the connection is given up where nothing completes for 20 to 30 seconds. Any context. */
	void look_later() noexcept;
	/* Starts a disconnection of the user's: it is told of no loss any more. stop() is due. Process context. */
	void break_off() noexcept
	{
		(void)lost_.xchg(true);
		id_.disconnect();
	}
	/* Gives the connection up for a reason of the user's. Any process context. */
	[[gnu::noinline]] void lose(const char *reason, const char *detail) noexcept;
	[[nodiscard]] bool is_lost() const noexcept { return lost_.read(); }

	/* To whom, by which device. */
	[[nodiscard]] const Identifier &id() const noexcept { return id_; }
	[[nodiscard]] const proto::Agreement &agreement() const noexcept { return id_.agreement(); }
	[[nodiscard]] u32 queue_pair_number() const noexcept { return queues_.queue_pair_number(); }
	[[nodiscard]] const Capacity &capacity() const noexcept { return capacity_; }
	[[nodiscard]] ReceiveQueue &receives() noexcept { return queues_.receives(); }
	[[nodiscard]] SendQueue &sends() noexcept { return queues_.sends(); }
	[[nodiscard]] RegistrationPool &registrations() noexcept { return queues_.registrations(); }

    private:
	using Outcome = proto::ConnectOutcome;

	void look() noexcept;
	[[nodiscard]] bool trim() noexcept;
	/* The size of the largest message in any version, where that of version 1 has no more than `threshold` bytes. */
	[[nodiscard]] std::uint32_t largest_sent(std::uint32_t threshold) const noexcept
	{
		return std::max(threshold, proto::least_threshold(highest_version_));
	}
	[[nodiscard]] Outcome make_queues(const EndpointWishes &wishes) noexcept;
	template <typename Load, typename SizesFor>
	[[nodiscard]] Outcome make_queues_for(Load load, SizesFor sizes_for) noexcept;
	[[nodiscard]] Outcome make_queues(const std::optional<wire::PrivateData> &requester,
					  const AcceptWishes &wishes) noexcept;

	void received(ReceiveBuffer &buffer) noexcept override;
	void room() noexcept override;
	void has_spares() noexcept override;
	void failed(const char *queue, const char *how) noexcept override;
	[[nodiscard]] bool carries_swap() noexcept override;
	void established() noexcept override;
	void ended(const char *event) noexcept override;

	Counted counted_{live_objects.endpoints};
	User &user_;
	Identifier id_{*this};
	Queues queues_{*this};
	wire::PrivateData own_;
	wire::Version highest_version_{};
	Capacity capacity_;
	/* Comes by from time to time while the connection is used, and until there is nothing more to free; at an acceptor's, as long
	 * as it is established. */
	kernel::Opaque<delayed_work> looking_;
	Probe probe_;
	Standstill standstill_;
	/* Ordered against nothing: who sees it set late looks once less. */
	kernel::Atomic<bool> is_acceptor_{false};
	/* A full barrier stands between this and what the user then looks at. Who reads it to decide that nothing more is to come has
	 * one, too, behind what it wrote for the user to find. */
	kernel::Atomic<bool> lost_{false};
};

/* What the device and the peer have to do with it. `endpoint` is established, or accepted, and has its queues. */
void observe(Endpoint &endpoint, wire::Version version, rpcordma_connection &to) noexcept;

} // namespace rpcordma::verbs
