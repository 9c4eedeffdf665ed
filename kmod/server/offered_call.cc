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

bool OfferedCall::offer(const proto::ReversePlan &plan, rpc_rqst *rqst, proto::RegistrationLimits limits,
			verbs::Chain &chain) noexcept
{
	if (plan.is_long) {
		const xdr_buf &call = field::rpc_rqst::rq_snd_buf(rqst);
		call_ = kernel::Block(field::xdr_buf::len(&call), kernel::GFP_ATTEMPT);
		if (!call_ || read_bytes_from_xdr_buf(&call, 0, call_.data(), call_.size()) != 0 ||
		    !advertise(call_, verbs::Access::read, limits, chain, read_.target))
			return false;
	}
	if (plan.has_reply_chunk) {
		reply_ = kernel::Block(field::rpc_rqst::rq_rcvsize(rqst), kernel::GFP_ATTEMPT);
		if (!reply_ || !advertise(reply_, verbs::Access::write, limits, chain, room_))
			return false;
	}
	return true;
}

bool OfferedCall::advertise(const kernel::Block &block, verbs::Access access, proto::RegistrationLimits limits,
			    verbs::Chain &chain, wire::Segment &to) noexcept
{
	const std::array<verbs::Run, 1> run{
		verbs::Run::of_bytes(block.data(), static_cast<std::uint32_t>(block.size()))};
	const std::array<proto::MemoryRun, 1> shape{run.front().shape};
	/* There is one registration for it. */
	if (shape.front().pages() > limits.pages)
		return false;
	const auto offer = [&to](const wire::Segment &segment) { to = segment; };
	return advertised.add(verbs::PageCursor(run), proto::Segmenter(shape, limits), access, chain, offer) ==
	       verbs::Mapped::yes;
}

} // namespace rpcordma::server
