// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/send_queue.hh"

#include <algorithm>

namespace rpcordma::verbs {

namespace field = kernel::field;

Signal::Signal(Action action) noexcept
	: action_(action)
{
	field::ib_cqe::done(cqe_.get()) = completed;
	field::ib_cqe::done(watched_.get()) = failed_before;
}

void Signal::completed(ib_cq *, ib_wc *completion)
{
	Signal &signal = *kernel::owner_of(&Signal::cqe_, field::ib_wc::wr_cqe(completion));
	SendQueue &queue = *signal.queue_;
	const Action action = signal.action_;

	signal.note(field::ib_wc::status(completion));
	/* From here on a buffer may be in use again, or be freed. */
	queue.retire(signal.mark_);
	action(signal);
}

void Signal::failed_before(ib_cq *, ib_wc *completion)
{
	kernel::owner_of(&Signal::watched_, field::ib_wc::wr_cqe(completion))->note(field::ib_wc::status(completion));
}

void Signal::note(unsigned int status) noexcept
{
	if (status == kernel::IB_WC_SUCCESS)
		return;
	if (failure_ == kernel::IB_WC_SUCCESS && status != kernel::IB_WC_WR_FLUSH_ERR)
		failure_ = status;
	queue_->failed(status);
}

void Signal::watch(SendQueue &queue, const Chain &chain) noexcept
{
	queue_ = &queue;
	reset();
	ib_send_wr *request = chain.first;
	for (std::uint32_t i = 0; i < chain.count; i++, request = field::ib_send_wr::next(request))
		field::ib_send_wr::wr_cqe(request) = watched_.get();
}

void Chain::append(ib_send_wr *request) noexcept
{
	field::ib_send_wr::next(request) = nullptr;
	if (last)
		field::ib_send_wr::next(last) = request;
	else
		first = request;
	last = request;
	count++;
}

void Chain::append_all(ib_send_wr *request) noexcept
{
	while (request) {
		ib_send_wr *const next = field::ib_send_wr::next(request);
		field::ib_send_wr::send_flags(request) = 0;
		append(request);
		request = next;
	}
}

Chain Chain::cut(std::uint32_t most) noexcept
{
	Chain front{first, first, 1};
	for (; front.count < most; front.count++)
		front.last = field::ib_send_wr::next(front.last);
	first = field::ib_send_wr::next(front.last);
	count -= most;
	field::ib_send_wr::next(front.last) = nullptr;
	return front;
}

SendQueue::SendQueue(ib_device *device, u32 lkey, std::uint32_t size, std::uint32_t depth, QueueUser &user) noexcept
	: device_(device)
	, lkey_(lkey)
	, size_(size)
	, largest_unsignalled_(rpcordma_largest_unsignalled(device))
	, depth_(depth)
	, user_(user)
{
	field::ib_cqe::done(silent_.get()) = silent_completed;
}

void SendQueue::silent_completed(ib_cq *, ib_wc *completion)
{
	const unsigned int status = field::ib_wc::status(completion);

	if (status != kernel::IB_WC_SUCCESS)
		kernel::owner_of(&SendQueue::silent_, field::ib_wc::wr_cqe(completion))->failed(status);
}

SendQueue::~SendQueue()
{
	free_buffers();
}

void SendQueue::free_buffers() noexcept
{
	kernel::Guard guard(lock_);
	free_.delete_all();
	in_queue_.delete_all();
}

SendBuffer *SendQueue::make(gfp_t gfp) noexcept
{
	kernel::Owned<SendBuffer> buffer(new (gfp, device_) SendBuffer);
	if (!buffer || !buffer->block_.map(device_, size_, kernel::DMA_TO_DEVICE, gfp))
		return nullptr;

	ib_sge *const element = buffer->element_.get();
	field::ib_sge::addr(element) = buffer->block_.address();
	field::ib_sge::lkey(element) = lkey_;
	ib_send_wr *const request = buffer->request_.get();
	field::ib_send_wr::sg_list(request) = element;
	field::ib_send_wr::num_sge(request) = 1;
	memory_.add(size_);
	return buffer.release();
}

bool SendQueue::prepare(std::uint32_t count, gfp_t gfp) noexcept
{
	for (; count != 0; count--) {
		SendBuffer *const buffer = make(gfp);
		if (!buffer)
			return false;
		kernel::Guard guard(lock_);
		free_.put(*buffer);
	}
	return true;
}

bool SendQueue::trim() noexcept
{
	kernel::List<SendBuffer> unneeded;
	bool is_more;
	{
		kernel::Guard guard(lock_);
		is_more = free_.give_up(unneeded, idle_buffers);
	}
	unneeded.for_each([this](const SendBuffer &buffer) { memory_.sub(buffer.bytes().size()); });
	unneeded.delete_all();
	return is_more;
}

SendQueue::Progress SendQueue::progress() noexcept
{
	kernel::Guard guard(lock_);
	/* One that fails completes without having asked, and may be behind those that have. */
	return {.is_owed = static_cast<std::int32_t>(signalled_ - retired_) > 0, .retired = retired_};
}

void SendQueue::begin_slow_start() noexcept
{
	kernel::Guard guard(lock_);
	window_ = 0;
}

void SendQueue::end_slow_start() noexcept
{
	kernel::Guard guard(lock_);
	window_ = depth_;
}

bool SendQueue::reserve(std::uint32_t requests) noexcept
{
	kernel::Guard guard(lock_);
	if (stopped_ || room() < requests)
		return false;
	reserved_ += requests;
	return true;
}

SendBuffer *SendQueue::take(gfp_t gfp) noexcept
{
	{
		kernel::Guard guard(lock_);
		if (SendBuffer *const buffer = free_.take())
			return buffer;
	}
	return make(gfp);
}

SendBuffer *SendQueue::begin(std::uint32_t requests, gfp_t gfp, std::uint32_t spare) noexcept
{
	/* The longest chain must find room in the end, behind Sends that nobody hears of. */
	const std::uint32_t kept = std::min(spare, depth_ - longest_chain() - most_unsignalled());
	{
		kernel::Guard guard(lock_);
		if (stopped_ || room() < requests + kept)
			return nullptr;
		reserved_ += requests;
		if (SendBuffer *const buffer = free_.take())
			return buffer;
	}
	SendBuffer *const buffer = make(gfp);
	if (!buffer)
		release(requests);
	return buffer;
}

void SendQueue::abandon(SendBuffer &buffer, std::uint32_t requests) noexcept
{
	kernel::Guard guard(lock_);
	reserved_ -= requests;
	free_.put(buffer);
}

void SendQueue::fill(SendBuffer &buffer, std::uint32_t size, const SendOptions &options) noexcept
{
	Signal &signal = options.watcher ? *options.watcher : buffer;
	ib_send_wr *const request = buffer.request_.get();
	buffer.block_.sync_for_device(size);
	field::ib_sge::length(buffer.element_.get()) = size;
	field::ib_send_wr::wr_cqe(request) = signal.cqe();
	field::ib_send_wr::opcode(request) = options.invalidate ? kernel::IB_WR_SEND_WITH_INV : kernel::IB_WR_SEND;
	field::ib_send_wr::invalidate_rkey(request) = options.invalidate.value_or(0);
	signal.queue_ = this;
}

bool SendQueue::post(SendBuffer &buffer, std::uint32_t size, Chain before, const SendOptions &options) noexcept
{
	fill(buffer, size, options);
	before.append(buffer.request_.get());

	bool posted;
	{
		kernel::Guard guard(lock_);
		posted = post_message(buffer, before, options.watcher);
	}
	if (!posted)
		user_.failed("send queue", "not posted");
	return posted;
}

bool SendQueue::post_at_once(SendBuffer &buffer, std::uint32_t size, std::optional<u32> invalidate) noexcept
{
	fill(buffer, size, {.watcher = nullptr, .invalidate = invalidate});
	Chain chain;
	chain.append(buffer.request_.get());

	bool posted;
	{
		kernel::Guard guard(lock_);
		if (stopped_ || room() < chain.count)
			return false;
		reserved_ += chain.count;
		posted = post_message(buffer, chain, nullptr);
	}
	if (!posted)
		user_.failed("send queue", "not posted");
	return true;
}

/* Posts a message that is the last of its chain. */
bool SendQueue::post_message(SendBuffer &buffer, const Chain &chain, Signal *watcher) noexcept
{
	const bool signalled = watcher || field::ib_sge::length(buffer.element_.get()) > largest_unsignalled_ ||
			       needs_completion(chain.count);
	field::ib_send_wr::send_flags(chain.last) = signalled ? kernel::IB_SEND_SIGNALED : 0;
	in_queue_.push_back(buffer);
	messages_left_--;
	const bool posted = post_locked(chain, watcher ? *watcher : buffer, signalled);
	buffer.mark_ = posted_;
	return posted;
}

/* For a message with so many work requests: for the last buffer to come back, before unsignalled requests fill the queue or the
 * window, and before too many messages wait for one. */
bool SendQueue::needs_completion(std::uint32_t requests) const noexcept
{
	return window_ != depth_ || free_.empty() || messages_left_ <= 1 ||
	       posted_ + requests - signalled_ >= most_unsignalled();
}

bool SendQueue::post(Chain chain, Signal &signal) noexcept
{
	field::ib_send_wr::wr_cqe(chain.last) = signal.cqe();
	field::ib_send_wr::send_flags(chain.last) = kernel::IB_SEND_SIGNALED;
	signal.queue_ = this;

	bool posted;
	{
		kernel::Guard guard(lock_);
		posted = post_locked(chain, signal, true);
	}
	if (!posted)
		user_.failed("send queue", "not posted");
	return posted;
}

/* Posts under the lock, so that marks are in the order of the queue. */
bool SendQueue::post_locked(Chain chain, Signal &signal, bool signalled) noexcept
{
	if (stopped_)
		return false;
	reserved_ -= chain.count;
	posted_ += chain.count;
	signal.mark_ = posted_;
	if (signalled) {
		signalled_ = posted_;
		/* Before a quarter of the buffers waits for a completion: those that are not needed can be told so. */
		messages_left_ = std::max((free_.size() + in_queue_.size()) / 4, least_buffers);
	}
	return rpcordma_post_send(qp_, chain.first) == 0;
}

void SendQueue::stop() noexcept
{
	kernel::Guard guard(lock_);
	stopped_ = true;
}

void SendQueue::retire(std::uint32_t mark) noexcept
{
	{
		kernel::Guard guard(lock_);
		const std::uint32_t done = mark - retired_;
		if (static_cast<std::int32_t>(done) > 0) {
			retired_ = mark;
			window_ = std::min(depth_, window_ + done);
		}
		for (;;) {
			const SendBuffer *const first = in_queue_.front();
			if (!first || static_cast<std::int32_t>(retired_ - first->mark_) < 0)
				break;
			free_.put(*in_queue_.pop_front());
		}
	}
	user_.room();
}

} // namespace rpcordma::verbs
