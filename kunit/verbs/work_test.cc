// SPDX-License-Identifier: GPL-2.0-only
/* Works that wait for others. What lockdep thinks of that is in the kernel's log, which check-kunit reads. */
#include "kunit/verbs/fake.hh"

#include "kernel/sync.hh"

namespace rpcordma::kunit {
namespace {

/* Long enough for another work to be waiting meanwhile. */
constexpr unsigned long jiffies_of_work = kernel::HZ / 4;

/* The two works that are there at the end of a connection whose queue pair has failed: see verbs/queues.hh. */
class Works {
    public:
	Works() noexcept
	{
		rpcordma_work_init(error_.get(), RPCORDMA_WORK_QUEUES, [](work_struct *work) {
			Works &works = *kernel::owner_of(&Works::error_, work);
			works.begun_.complete();
			(void)works.never_.wait(jiffies_of_work);
			works.is_reported_ = true;
		});
		rpcordma_work_init(end_.get(), RPCORDMA_WORK_CONNECTION, [](work_struct *work) {
			Works &works = *kernel::owner_of(&Works::end_, work);
			works.begun_.wait();
			cancel_work_sync(works.error_.get());
			works.was_reported_ = works.is_reported_;
			works.ended_.complete();
		});
	}

	/* Both at the same time. Returns whether the end has waited for the error. */
	[[nodiscard]] bool run() noexcept
	{
		rpcordma_queue_work(error_.get());
		rpcordma_queue_end(end_.get());
		ended_.wait();
		rpcordma_flush_ends();
		return was_reported_;
	}

    private:
	kernel::Opaque<work_struct> error_;
	kernel::Opaque<work_struct> end_;
	kernel::Completion begun_;
	kernel::Completion never_;
	kernel::Completion ended_;
	bool is_reported_ = false;
	bool was_reported_ = false;
};

TEST(Work, OfAConnection_WaitsForThatOfItsQueues)
{
	ASSERT_EQ(rpcordma_workqueues_create(), 0);
	auto *const works = new Works;
	EXPECT_TRUE(works->run());
	delete works;
	rpcordma_workqueues_destroy();
}

} // namespace
} // namespace rpcordma::kunit
