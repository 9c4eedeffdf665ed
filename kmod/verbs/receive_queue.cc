// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/receive_queue.hh"

namespace rpcordma::verbs {

namespace field = kernel::field;

void ReceiveBuffer::completed(ib_cq *, ib_wc *completion)
{
	ReceiveBuffer &buffer = *kernel::owner_of(&ReceiveBuffer::cqe_, field::ib_wc::wr_cqe(completion));

	buffer.queue_->complete(buffer, completion);
}

ReceiveQueue::~ReceiveQueue()
{
	/* Also those of a chain that could not be posted: nothing has completed them. */
	while (spare_.take())
		;
	for (ReceiveBuffer *buffer = newest_; buffer;)
		delete std::exchange(buffer, buffer->older_);
}

ReceiveBuffer *ReceiveQueue::make(gfp_t gfp) noexcept
{
	const std::uint32_t size = size_.read();
	kernel::Owned<ReceiveBuffer> buffer(new (gfp, device_) ReceiveBuffer);
	if (!buffer || !buffer->block_.map(device_, size, kernel::DMA_FROM_DEVICE, gfp))
		return nullptr;

	buffer->queue_ = this;
	field::ib_cqe::done(buffer->cqe_.get()) = ReceiveBuffer::completed;
	ib_sge *const element = buffer->element_.get();
	field::ib_sge::addr(element) = buffer->block_.address();
	field::ib_sge::length(element) = size;
	field::ib_sge::lkey(element) = lkey_;
	ib_recv_wr *const request = buffer->request_.get();
	field::ib_recv_wr::wr_cqe(request) = buffer->cqe_.get();
	field::ib_recv_wr::sg_list(request) = element;
	field::ib_recv_wr::num_sge(request) = 1;
	memory_.add(size);
	return buffer.release();
}

void ReceiveQueue::enlist(ReceiveBuffer &buffer) noexcept
{
	buffer.older_ = std::exchange(newest_, &buffer);
	if (buffer.older_)
		buffer.older_->newer_ = &buffer;
}

void ReceiveQueue::forget(kernel::List<ReceiveBuffer> &buffers) noexcept
{
	buffers.for_each([&newest = newest_](ReceiveBuffer &buffer) {
		(buffer.newer_ ? buffer.newer_->older_ : newest) = buffer.older_;
		if (buffer.older_)
			buffer.older_->newer_ = buffer.newer_;
	});
}

std::uint32_t ReceiveQueue::post_more(std::uint32_t wanted, std::uint32_t batch, gfp_t gfp) noexcept
{
	std::uint32_t missing;
	{
		kernel::Guard guard(lock_);
		const std::uint32_t posted = at_device();
		if (posted >= wanted || stopped_ || failed_)
			return posted;
		const std::uint32_t at_hand = posted + spare_.size();
		missing = at_hand < wanted ? wanted + batch - at_hand : 0;
	}
	kernel::List<ReceiveBuffer> made;
	for (; missing != 0; missing--) {
		ReceiveBuffer *const buffer = make(gfp);
		if (!buffer)
			break;
		made.push_back(*buffer);
	}

	bool failed;
	std::uint32_t posted;
	{
		kernel::Guard guard(lock_);
		while (ReceiveBuffer *const buffer = made.pop_front()) {
			enlist(*buffer);
			spare_.put(*buffer);
		}
		post_spares(std::min(wanted + batch, depth_));
		failed = failed_;
		posted = at_device();
	}
	if (failed)
		user_.failed("receive queue", "not posted");
	return posted;
}

void ReceiveQueue::post_spares(std::uint32_t wanted) noexcept
{
	if (stopped_ || failed_)
		return;
	ib_recv_wr *first = nullptr;
	ib_recv_wr **link = &first;
	std::uint32_t posted = 0;
	for (const std::uint32_t before = at_device(); before + posted < wanted; posted++) {
		ReceiveBuffer *const buffer = spare_.take();
		if (!buffer)
			break;
		buffer->block_.sync_for_device(buffer->block_.bytes().size());
		*link = buffer->request_.get();
		link = &field::ib_recv_wr::next(*link);
	}
	*link = nullptr;
	/* Which of a failed chain were posted does not matter: the connection ends. */
	if (posted != 0 && rpcordma_post_recv(qp_, first) != 0)
		failed_ = true;
	/* Not before: who relies on their number has the peer send messages for them. */
	posted_.store_release(posted_.read() + posted);
}

void ReceiveQueue::give_back(ReceiveBuffer &buffer) noexcept
{
	bool is_first;
	{
		kernel::Guard guard(lock_);
		is_first = spare_.empty();
		spare_.put(buffer);
	}
	if (is_first)
		user_.has_spares();
}

bool ReceiveQueue::trim() noexcept
{
	kernel::List<ReceiveBuffer> unneeded;
	bool is_more;
	{
		kernel::Guard guard(lock_);
		is_more = spare_.give_up(unneeded, 0);
		forget(unneeded);
	}
	unneeded.for_each([this](const ReceiveBuffer &buffer) { memory_.sub(buffer.block_.bytes().size()); });
	unneeded.delete_all();
	return is_more;
}

void ReceiveQueue::stop() noexcept
{
	kernel::Guard guard(lock_);
	stopped_ = true;
}

void ReceiveQueue::unmap() noexcept
{
	kernel::Guard guard(lock_);
	for (ReceiveBuffer *buffer = newest_; buffer; buffer = buffer->older_)
		buffer->block_.unmap();
}

/* Why there is no message in a buffer whose Receive has completed; or null. An RDMA Write with immediate data uses up a Receive as
 * well. The length that its completion tells is that of what it has written elsewhere: in the buffer is what was there before. */
const char *ReceiveQueue::lack_of(const ReceiveBuffer &buffer, ib_wc *completion) noexcept
{
	if (field::ib_wc::status(completion) != kernel::IB_WC_SUCCESS) [[unlikely]]
		return rpcordma_status_name(field::ib_wc::status(completion));
	const bool is_send = field::ib_wc::opcode(completion) == kernel::IB_WC_RECV;
	return is_send && field::ib_wc::byte_len(completion) <= buffer.block_.bytes().size() ? nullptr : "not a Send";
}

void ReceiveQueue::complete(ReceiveBuffer &buffer, ib_wc *completion) noexcept
{
	completed_.set(completed_.read() + 1);
	if (const char *const lack = lack_of(buffer, completion)) [[unlikely]] {
		give_back(buffer);
		user_.failed("receive queue", lack);
		return;
	}
	buffer.length_ = field::ib_wc::byte_len(completion);
	buffer.has_invalidated_ = field::ib_wc::wc_flags(completion) & kernel::IB_WC_WITH_INVALIDATE;
	buffer.invalidated_handle_ = field::ib_wc::invalidate_rkey(completion);
	buffer.block_.sync_for_cpu(buffer.length_);
	user_.received(buffer);
}

} // namespace rpcordma::verbs
