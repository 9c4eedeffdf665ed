// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/queues.hh"

#include <algorithm>
#include <utility>

namespace rpcordma::verbs {

namespace field = kernel::field;

namespace {

/* Errors after which a queue pair carries nothing, whether or not what is posted is completed as flushed. */
bool is_fatal(unsigned int event) noexcept
{
	switch (event) {
	case kernel::IB_EVENT_QP_FATAL:
	case kernel::IB_EVENT_QP_REQ_ERR:
	case kernel::IB_EVENT_QP_ACCESS_ERR:
	case kernel::IB_EVENT_PATH_MIG_ERR:
	case kernel::IB_EVENT_DEVICE_FATAL:
		return true;
	default:
		return false;
	}
}

} // namespace

Queues::Queues(QueueUser &user) noexcept
	: user_(user)
{
	rpcordma_work_init(error_work_.get(), RPCORDMA_WORK_QUEUES, [](work_struct *work) {
		Queues &queues = *kernel::owner_of(&Queues::error_work_, work);
		queues.user_.failed("queue pair", rpcordma_queue_pair_event_name(queues.error_.read()));
	});
}

bool Queues::make(rdma_cm_id *id, const QueueSizes &sizes) noexcept
{
	ib_device *const device = field::rdma_cm_id::device(id);
	ib_pd *const pd = __ib_alloc_pd(device, 0, "rpcordma");
	if (rpcordma_pointer_error(pd) != 0)
		return false;
	pd_ = pd;
	const u32 lkey = field::ib_pd::local_dma_lkey(pd_);
	receives_.reset(new (kernel::GFP_KERNEL, device)
				ReceiveQueue(device, lkey, sizes.receive_size, sizes.depths.receive, user_));
	sends_.reset(new (kernel::GFP_KERNEL, device)
			     SendQueue(device, lkey, sizes.send_size, sizes.depths.send, user_));
	if (!receives_ || !sends_ || !make_queue_pair(id, sizes))
		return false;
	registrations_.reset(new (kernel::GFP_KERNEL, device)
				     RegistrationPool(device, pd_, *sends_, sizes.most_registrations, user_));
	return registrations_ && registrations_->prepare(sizes.first_registrations) &&
	       receives_->provide(sizes.first_receives, 0, kernel::GFP_KERNEL) >= sizes.first_receives;
}

bool Queues::agree(std::uint32_t send_size, std::uint32_t receive_size) noexcept
{
	receives_->shrink(receive_size);
	sends_->shrink(send_size);
	return sends_->prepare(SendQueue::least_buffers, kernel::GFP_KERNEL);
}

bool Queues::trim() noexcept
{
	const bool has_receives = receives_->trim();
	const bool has_sends = sends_->trim();
	const bool has_registrations = registrations_->trim();
	return has_receives || has_sends || has_registrations;
}

/* The kernel adds work requests for transfers, one each at least. The depth counts what these post. */
bool Queues::make_queue_pair(rdma_cm_id *id, const QueueSizes &sizes) noexcept
{
	ib_device *const device = field::rdma_cm_id::device(id);
	const std::uint32_t added = std::min(sizes.transfers, sizes.depths.send);
	ib_cq *const cq = __ib_alloc_cq_any(device, this, static_cast<int>(sizes.depths.completions()),
					    kernel::IB_POLL_WORKQUEUE, "rpcordma");
	if (rpcordma_pointer_error(cq) != 0)
		return false;
	cq_ = cq;

	kernel::Opaque<ib_qp_init_attr> attributes;
	ib_qp_init_attr *const wanted = attributes.get();
	field::ib_qp_init_attr::send_cq(wanted) = cq_;
	field::ib_qp_init_attr::recv_cq(wanted) = cq_;
	field::ib_qp_init_attr::max_send_wr(wanted) = sizes.depths.send + drain_requests - added;
	field::ib_qp_init_attr::max_recv_wr(wanted) = sizes.depths.receive + drain_requests;
	field::ib_qp_init_attr::max_send_sge(wanted) = sizes.depths.elements;
	field::ib_qp_init_attr::max_recv_sge(wanted) = 1;
	field::ib_qp_init_attr::event_handler(wanted) = event;
	field::ib_qp_init_attr::qp_context(wanted) = this;
	field::ib_qp_init_attr::sq_sig_type(wanted) = kernel::IB_SIGNAL_REQ_WR;
	field::ib_qp_init_attr::qp_type(wanted) = kernel::IB_QPT_RC;
	field::ib_qp_init_attr::max_rdma_ctxs(wanted) = sizes.transfers;
	field::ib_qp_init_attr::port_num(wanted) = field::rdma_cm_id::port_num(id);
	if (rdma_create_qp(id, pd_, wanted) != 0)
		return false;
	has_queue_pair_ = true;
	queue_pair_number_ = field::ib_qp::qp_num(field::rdma_cm_id::qp(id));
	receives_->attach(field::rdma_cm_id::qp(id));
	sends_->attach(field::rdma_cm_id::qp(id));
	return true;
}

/* sunrpc's locks are for process context, and a device may be in an interrupt. */
void Queues::event(ib_event *event, void *queues)
{
	const unsigned int kind = field::ib_event::event(event);
	if (!is_fatal(kind))
		return;
	auto &self = *static_cast<Queues *>(queues);
	self.error_.set(kind);
	rpcordma_queue_work(self.error_work_.get());
}

void Queues::stop() noexcept
{
	cancel_work_sync(error_work_.get());
	receives_->stop();
	sends_->stop();
	registrations_->stop();
}

void Queues::free(rdma_cm_id *id) noexcept
{
	if (std::exchange(has_queue_pair_, false))
		rdma_destroy_qp(id);
	/* What it reported at last is on its way, to nobody. */
	cancel_work_sync(error_work_.get());
	if (ib_cq *const cq = std::exchange(cq_, nullptr))
		ib_free_cq(cq);
	registrations_.reset();
	if (sends_)
		sends_->free_buffers();
	if (receives_)
		receives_->unmap();
	if (ib_pd *const pd = std::exchange(pd_, nullptr))
		ib_dealloc_pd_user(pd, nullptr);
}

} // namespace rpcordma::verbs
