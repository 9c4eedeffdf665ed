// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/registration.hh"

#include <algorithm>

#include "kernel/page.hh"
#include "kernel/trace.hh"

namespace rpcordma::verbs {

namespace field = kernel::field;

namespace {

/* How many more are made when there are too few. */
constexpr std::uint32_t growth_step = 8;
/* Where none can be made, who waits for them tries again after so long, in jiffies. */
constexpr unsigned long retry_delay = kernel::HZ / 4;

} // namespace

PagePiece PageCursor::next() noexcept
{
	while (done_ == runs_.front().shape.pages()) {
		runs_ = runs_.subspan(1);
		done_ = 0;
	}
	const Run &run = runs_.front();
	const std::uint32_t offset = done_ == 0 ? run.shape.offset : 0;
	const std::uint32_t before = done_ == 0 ? 0 : done_ * kernel::page_size - run.shape.offset;
	const std::uint32_t length = std::min(kernel::page_size - offset, run.shape.length - before);
	page *const in = run.pages ? run.pages[done_] : rpcordma_page_of(run.bytes + before);

	done_++;
	return {in, offset, length};
}

Registration::Registration(SendQueue &queue) noexcept
	: silent_(queue.silent())
{
	field::ib_send_wr::opcode(register_request()) = kernel::IB_WR_REG_MR;
	field::ib_send_wr::wr_cqe(register_request()) = silent_;
	field::ib_send_wr::opcode(invalidate_.get()) = kernel::IB_WR_LOCAL_INV;
}

Registration::~Registration()
{
	if (mr_)
		ib_dereg_mr_user(mr_, nullptr);
}

Mapped Registration::map(PageCursor &cursor, proto::Segmenter::Piece piece, Access access) noexcept
{
	auto *const list = reinterpret_cast<scatterlist *>(list_.data());
	for (std::uint32_t i = 0; i < piece.pages; i++) {
		const PagePiece next = cursor.next();
		rpcordma_list_set(kernel::nth(list, i), next.in, next.length, next.offset);
	}

	direction_ = access == Access::read ? kernel::DMA_TO_DEVICE : kernel::DMA_FROM_DEVICE;
	const int entries = rpcordma_map_list(device_, list, static_cast<int>(piece.pages), direction_);
	if (entries <= 0)
		return Mapped::not_now;
	mapped_ = piece.pages;
	live_objects.mapped_pages.add(mapped_);
	const int covered = ib_map_mr_sg(mr_, list, entries, nullptr, kernel::page_size);
	if (covered != entries) {
		unmap();
		/* hns_roce says zero where it finds no memory. */
		return covered <= 0 ? Mapped::not_now : Mapped::never;
	}
	/* Where this memory is concerns nobody else: of its address, peers get what it has within a page. */
	if (hides_address_)
		field::ib_mr::iova(mr_) %= kernel::page_size;

	invalidated = false;
	rpcordma_renew_key(mr_);
	const u32 key = field::ib_mr::rkey(mr_);
	ib_reg_wr *const request = register_.get();
	field::ib_reg_wr::mr(request) = mr_;
	field::ib_reg_wr::key(request) = key;
	field::ib_reg_wr::access(request) = access == Access::read ?
						    kernel::IB_ACCESS_REMOTE_READ :
						    kernel::IB_ACCESS_REMOTE_WRITE | kernel::IB_ACCESS_LOCAL_WRITE;
	field::ib_send_wr::invalidate_rkey(invalidate_.get()) = key;
	return Mapped::yes;
}

void Registration::unmap() noexcept
{
	if (mapped_ == 0)
		return;
	rpcordma_unmap_list(device_, reinterpret_cast<scatterlist *>(list_.data()), static_cast<int>(mapped_),
			    direction_);
	live_objects.mapped_pages.sub(mapped_);
	mapped_ = 0;
}

wire::Segment Registration::segment() const noexcept
{
	return {.handle = wire::Handle{field::ib_mr::rkey(mr_)},
		.length = static_cast<std::uint32_t>(field::ib_mr::length(mr_)),
		.offset = field::ib_mr::iova(mr_)};
}

ib_send_wr *Registration::invalidate_request() noexcept
{
	/* It may have been the last of a chain, which is signalled. */
	ib_send_wr *const request = invalidate_.get();
	field::ib_send_wr::wr_cqe(request) = silent_;
	field::ib_send_wr::send_flags(request) = 0;
	return request;
}

proto::RegistrationLimits RegistrationPool::limits_of(ib_device *device) noexcept
{
	return {.pages = std::clamp<std::uint32_t>(field::ib_device::max_fast_reg_page_list_len(device), 1,
						   most_registration_pages),
		.gaps = (field::ib_device::kernel_cap_flags(device) & kernel::IBK_SG_GAPS_REG) != 0};
}

RegistrationPool::RegistrationPool(ib_device *device, ib_pd *pd, SendQueue &queue, std::uint32_t most,
				   QueueUser &user) noexcept
	: device_(device)
	, pd_(pd)
	, queue_(queue)
	, user_(user)
	, limits_(limits_of(device))
	, most_(most)
{
	rpcordma_work_init(growth_.get(), RPCORDMA_WORK_REGISTRATION_POOL,
			   [](work_struct *work) { kernel::owner_of(&RegistrationPool::growth_, work)->grow(); });
	rpcordma_delayed_work_init(retry_.get(), RPCORDMA_WORK_REGISTRATION_POOL, [](work_struct *work) {
		kernel::owner_of(&RegistrationPool::retry_, rpcordma_delayed_work_of(work))->user_.room();
	});
}

RegistrationPool::~RegistrationPool() = default;

Registration *RegistrationPool::make() noexcept
{
	kernel::Owned<Registration> registration(new (kernel::GFP_KERNEL, device_) Registration(queue_));
	if (!registration)
		return nullptr;
	registration->list_ = kernel::Block(list_size(), kernel::GFP_KERNEL, device_);
	if (!registration->list_)
		return nullptr;
	rpcordma_list_init(reinterpret_cast<scatterlist *>(registration->list_.data()), limits_.pages);

	ib_mr *const mr =
		ib_alloc_mr(pd_, limits_.gaps ? kernel::IB_MR_TYPE_SG_GAPS : kernel::IB_MR_TYPE_MEM_REG, limits_.pages);
	if (rpcordma_pointer_error(mr) != 0)
		return nullptr;
	registration->mr_ = mr;
	registration->device_ = device_;
	registration->hides_address_ = rpcordma_may_choose_iova(device_);
	return registration.release();
}

bool RegistrationPool::add() noexcept
{
	Registration *const registration = make();
	if (!registration)
		return false;
	kernel::Guard guard(lock_);
	free_.put(*registration);
	size_++;
	made_++;
	return true;
}

bool RegistrationPool::prepare(std::uint32_t count) noexcept
{
	{
		kernel::Guard guard(lock_);
		first_ = count;
	}
	for (; count != 0; count--) {
		if (!add())
			return false;
	}
	return true;
}

bool RegistrationPool::take(std::uint32_t count, Registrations &to) noexcept
{
	kernel::Guard guard(lock_);
	if (free_.size() < count) {
		wanted_ = std::max(wanted_, count);
		if (!stopped_ && size_ < most_)
			rpcordma_queue_work(growth_.get());
		return false;
	}
	for (; count != 0; count--)
		to.push_back(*free_.take());
	return true;
}

void RegistrationPool::put_back(Registrations &from) noexcept
{
	kernel::Guard guard(lock_);
	/* To the front: the one used last is the one whose memory is still in the caches. */
	while (Registration *const registration = from.pop_front())
		free_.put(*registration);
}

void RegistrationPool::give_back(Registrations &from) noexcept
{
	if (from.empty())
		return;
	put_back(from);
	user_.room();
}

bool RegistrationPool::is_stopped() noexcept
{
	kernel::Guard guard(lock_);
	return stopped_;
}

void RegistrationPool::grow() noexcept
{
	std::uint32_t step;
	std::uint32_t before;
	{
		kernel::Guard guard(lock_);
		before = made_;
		step = std::min(std::max(growth_step, wanted_), most_ - size_);
		wanted_ = 0;
	}
	/* Who stops the pool waits for this, and what is reclaimed may wait for a new connection. */
	const unsigned int scope = rpcordma_reclaim_scope_enter(user_.carries_swap());
	while (step-- != 0 && !is_stopped() && add())
		;
	rpcordma_reclaim_scope_leave(scope);
	const std::uint32_t now = made();
	rpcordma_trace_registrations_made(field::ib_device::name(device_), now - before, now);
	/* No other RPC may be there to give its own back. */
	if (now != before)
		user_.room();
	else
		rpcordma_queue_delayed_work(retry_.get(), retry_delay);
}

bool RegistrationPool::trim() noexcept
{
	Registrations unneeded;
	bool is_more;
	{
		kernel::Guard guard(lock_);
		const std::uint32_t in_use = size_ - free_.size();
		is_more = free_.give_up(unneeded, first_ - std::min(first_, in_use));
		size_ -= unneeded.size();
	}
	unneeded.delete_all();
	return is_more;
}

void RegistrationPool::stop() noexcept
{
	{
		kernel::Guard guard(lock_);
		stopped_ = true;
	}
	cancel_work_sync(growth_.get());
	cancel_delayed_work_sync(retry_.get());
}

std::uint32_t RegistrationPool::made() noexcept
{
	kernel::Guard guard(lock_);
	return made_;
}

std::uint64_t RegistrationPool::memory() noexcept
{
	kernel::Guard guard(lock_);
	return size_ * list_size();
}

} // namespace rpcordma::verbs
