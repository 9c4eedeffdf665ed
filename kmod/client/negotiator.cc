// SPDX-License-Identifier: GPL-2.0-only
#include "client/negotiator.hh"

#include <algorithm>
#include <utility>

#include "client/transport.hh"
#include "kernel/trace.hh"
#include "proto/failures.hh"

namespace rpcordma::client {

namespace field = kernel::field;

namespace {

/* How long the first Call may be without any answer. */
constexpr unsigned long first_reply_within = 5 * kernel::HZ;

/* What responders have turned out to speak, for the transports of all mounts. */
struct Known : kernel::Heap {
	kernel::SpinLock lock{RPCORDMA_LOCK_KNOWN_VERSIONS};
	proto::KnownVersions versions RPCORDMA_GUARDED_BY(lock);
};

constinit Known *known = nullptr;

std::uint64_t now() noexcept
{
	return static_cast<std::uint64_t>(ktime_get_seconds());
}

std::optional<wire::Version> find(proto::KnownVersions::Responder responder) noexcept
{
	kernel::Guard guard(known->lock);
	return known->versions.find(responder, now());
}

} // namespace

int Negotiator::start() noexcept
{
	known = new (kernel::GFP_KERNEL) Known;
	return known ? 0 : -kernel::ENOMEM;
}

void Negotiator::stop() noexcept
{
	delete known;
}

void Negotiator::forget_all() noexcept
{
	kernel::Guard guard(known->lock);
	known->versions.forget_all();
}

Negotiator::Negotiator(Transport &owner) noexcept
	: owner_(owner)
{
	rpcordma_delayed_work_init(patience_.get(), RPCORDMA_WORK_NEGOTIATOR, [](work_struct *work) {
		kernel::owner_of(&Negotiator::patience_, rpcordma_delayed_work_of(work))->expired();
	});
}

void Negotiator::begin() noexcept
{
	const auto highest = static_cast<wire::Version>(rpcordma_highest_version);
	const std::optional<wire::Version> remembered = find(responder());
	kernel::Guard guard(lock_);
	highest_ = highest;
	negotiation_ = proto::Negotiation(highest, next_ ? next_ : remembered);
	is_confirmed_ = is_connected_ = false;
	first_size_ = 0;
	publish();
}

void Negotiator::connected() noexcept
{
	kernel::Guard guard(lock_);
	next_.reset();
	is_connected_ = true;
}

void Negotiator::end() noexcept
{
	cancel_delayed_work_sync(patience_.get());
	bool is_doubtful;
	{
		kernel::Guard guard(lock_);
		/* Nothing is learnt from an attempt that failed. */
		if (const auto next = negotiation_.next(); next && !is_confirmed_)
			next_ = next;
		is_doubtful = is_connected_ && negotiation_.is_doubtful();
	}
	if (is_doubtful)
		forget();
}

void Negotiator::confirmed() noexcept
{
	{
		kernel::Guard guard(lock_);
		is_confirmed_ = true;
		negotiation_.spoken();
	}
	kernel::Guard guard(known->lock);
	known->versions.remember(responder(), version(), now());
}

void Negotiator::publish() noexcept
{
	version_.set(negotiation_.version());
	is_settled_.store_release(negotiation_.is_settled());
	if (negotiation_.is_settled())
		rpcordma_trace_version(owner_.peer(), std::to_underlying(negotiation_.version()));
}

proto::Terms Negotiator::terms(const proto::Agreement &agreement) const noexcept
{
	if (is_settled()) [[likely]]
		return agreement.terms(version());
	/* The responder may be one that takes no more. */
	constexpr std::uint32_t least = proto::least_threshold(wire::Version::one);
	return {version(), {.call = least, .reply = least}};
}

void Negotiator::keep(wire::Xid xid, wire::Bytes message) noexcept
{
	kernel::Guard guard(lock_);
	if (negotiation_.is_settled())
		return;
	negotiation_.sent(xid);
	first_size_ = std::min(message.size(), first_.size());
	__builtin_memcpy(first_.data(), message.data(), first_size_);
	patience_ends_ = rpcordma_jiffies() + first_reply_within;
	/* It may be pending for a Call that has been answered with an error. */
	rpcordma_restart_delayed_work(patience_.get(), first_reply_within);
}

/* What takes no Call of the version may have dropped it. */
void Negotiator::expired() noexcept
{
	{
		kernel::Guard guard(lock_);
		const bool is_of_another = static_cast<long>(rpcordma_jiffies() - patience_ends_) < 0;
		if (!negotiation_.is_awaited() || is_of_another)
			return;
	}
	owner_.give_up("no answer in the version");
}

Negotiator::Verdict Negotiator::judge(const proto::ForCall &message) noexcept
{
	Verdict verdict;
	{
		kernel::Guard guard(lock_);
		verdict = negotiation_.take(message);
		if (verdict == Verdict::settled || verdict == Verdict::again)
			publish();
	}
	if (verdict == Verdict::outdated)
		forget();
	return verdict;
}

void Negotiator::forget() noexcept
{
	kernel::Guard guard(known->lock);
	known->versions.forget(responder());
}

std::optional<proto::ForCall> Negotiator::undecodable(wire::Bytes message) noexcept
{
	wire::Reader reader(message);
	const auto fixed = wire::FixedFields::decode(reader);
	kernel::Guard guard(lock_);
	if (!fixed || !negotiation_.awaits(fixed->xid))
		return std::nullopt;
	return proto::ForCall{fixed->xid, fixed->credits, wire::ChunkError{}, std::to_underlying(wire::Version::one)};
}

std::uint32_t Negotiator::fill_again(std::span<std::byte> message) noexcept
{
	kernel::Guard guard(lock_);
	const auto size = wire::translate(std::span(first_).first(first_size_), negotiation_.version(), message);
	if (!size)
		bug("the first call cannot be sent again");
	return static_cast<std::uint32_t>(*size);
}

proto::KnownVersions::Responder Negotiator::responder() const noexcept
{
	std::array<std::byte, 28> address;
	__builtin_memcpy(address.data(), owner_.peer(), address.size());
	const auto network = reinterpret_cast<std::uintptr_t>(field::rpc_xprt::xprt_net(owner_.xprt()));
	return proto::KnownVersions::Responder{std::to_underlying(proto::requester_at(address)) ^ network};
}

} // namespace rpcordma::client
