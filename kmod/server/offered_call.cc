// SPDX-License-Identifier: GPL-2.0-only
#include "server/offered_call.hh"

#include <array>

#include "server/reverse.hh"

namespace rpcordma::server {

namespace field = kernel::field;

OfferedCall::OfferedCall(ReverseRequester &owner, wire::Xid its_xid) noexcept
	: Signal([](verbs::Signal &signal) noexcept {
		auto &call = static_cast<OfferedCall &>(signal);
		call.owner_.fenced(call);
	})
	, xid(its_xid)
	, owner_(owner)
{
}

kernel::Owned<OfferedCall> OfferedCall::make(ReverseRequester &owner, wire::Xid xid, const proto::ReversePlan &plan,
					     rpc_rqst *rqst, proto::RegistrationLimits limits,
					     verbs::Registrations &taken, verbs::Chain &chain) noexcept
{
	kernel::Owned<OfferedCall> call(new (kernel::GFP_ATTEMPT) OfferedCall(owner, xid));
	if (!call || call->offer(plan, rqst, limits, taken, chain))
		return call;
	call->take_back(taken);
	return {};
}

bool OfferedCall::offer(const proto::ReversePlan &plan, rpc_rqst *rqst, proto::RegistrationLimits limits,
			verbs::Registrations &taken, verbs::Chain &chain) noexcept
{
	if (plan.is_long) {
		const xdr_buf &call = field::rpc_rqst::rq_snd_buf(rqst);
		call_ = kernel::Block(field::xdr_buf::len(&call), kernel::GFP_ATTEMPT);
		if (!call_ || read_bytes_from_xdr_buf(&call, 0, call_.data(), call_.size()) != 0)
			return false;
		const auto segment = map(call_, verbs::Access::read, limits, taken, chain);
		if (!segment)
			return false;
		read_ = {wire::Position{0}, *segment};
	}
	if (plan.has_reply_chunk) {
		reply_ = kernel::Block(field::rpc_rqst::rq_rcvsize(rqst), kernel::GFP_ATTEMPT);
		if (!reply_)
			return false;
		const auto segment = map(reply_, verbs::Access::write, limits, taken, chain);
		if (!segment)
			return false;
		room_ = *segment;
	}
	return true;
}

std::optional<wire::Segment> OfferedCall::map(const kernel::Block &block, verbs::Access access,
					      proto::RegistrationLimits limits, verbs::Registrations &taken,
					      verbs::Chain &chain) noexcept
{
	const std::array<verbs::Run, 1> run{
		verbs::Run::of_bytes(block.data(), static_cast<std::uint32_t>(block.size()))};
	const proto::MemoryRun &shape = run.front().shape;
	if (shape.pages() > limits.pages)
		return std::nullopt;
	verbs::Registration *const registration = taken.pop_front();
	registrations_.push_back(*registration);
	verbs::PageCursor cursor(run);
	if (registration->map(cursor, {.pages = shape.pages(), .length = shape.length}, access) != verbs::Mapped::yes)
		return std::nullopt;
	chain.append(registration->register_request());
	return registration->segment();
}

bool OfferedCall::mark_invalidated(const verbs::ReceiveBuffer &buffer) noexcept
{
	u32 handle;
	if (!buffer.invalidated(handle))
		return true;
	bool is_ours = false;
	registrations_.for_each([&](verbs::Registration &registration) {
		if (registration.handle() != wire::Handle{handle})
			return;
		registration.invalidated = true;
		is_ours = true;
	});
	return is_ours;
}

void OfferedCall::take_back(verbs::Registrations &to) noexcept
{
	while (verbs::Registration *const registration = registrations_.pop_front()) {
		registration->unmap();
		to.push_back(*registration);
	}
}

} // namespace rpcordma::server
