// SPDX-License-Identifier: GPL-2.0-only
#include "server/pages.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernel/glue.h"
#include "kunit/glue/svc_thread.h"
#include "verbs/live.hh"

namespace rpcordma::kunit {
namespace {

using server::Pages;

/* A thread of the service between two Calls. */
class Thread {
    public:
	Thread()
		: rqst_(rpcordma_fake_thread_create())
	{
	}
	~Thread()
	{
		if (rqst_)
			rpcordma_fake_thread_destroy(rqst_);
	}
	Thread(const Thread &) = delete;
	Thread &operator=(const Thread &) = delete;
	explicit operator bool() const { return rqst_; }
	operator svc_rqst *() const { return rqst_; }

	/* The first `count` pages that the next Reply will be in. */
	[[nodiscard]] std::vector<page *> reply_pages(u32 count) const
	{
		std::vector<page *> pages(count);
		for (u32 i = 0; i < count; i++)
			pages[i] = rpcordma_fake_thread_page(rqst_, i);
		return pages;
	}
	/* A Call comes, and is answered by a Reply in `count` pages of the thread's own. */
	void encode(u32 count) const
	{
		rpcordma_svc_pages_reset(rqst_);
		rpcordma_fake_thread_encode(rqst_, count);
	}
	void keep() const { rpcordma_svc_keep_reply_pages(rqst_); }
	/* Returns how many pages sunrpc has to allocate. */
	[[nodiscard]] u32 refill() const { return rpcordma_fake_thread_refill(rqst_); }

    private:
	svc_rqst *rqst_;
};

/* A page of a file. */
class FilePage {
    public:
	explicit FilePage(bool is_marked = true)
		: page_(rpcordma_fake_file_page(is_marked))
	{
	}
	~FilePage() { drop(); }
	FilePage(const FilePage &) = delete;
	FilePage &operator=(const FilePage &) = delete;
	[[nodiscard]] bool splice(const Thread &thread) const
	{
		return page_ && rpcordma_fake_thread_splice(thread, page_);
	}
	/* Whether nobody else has it. */
	[[nodiscard]] bool is_let_go() const { return rpcordma_fake_file_alone_has(page_); }
	/* The file does not have it any more. */
	void drop()
	{
		if (page_)
			rpcordma_fake_file_drop(std::exchange(page_, nullptr));
	}

    private:
	page *page_;
};

[[nodiscard]] bool is_in(const std::vector<page *> &pages, const page *wanted)
{
	return std::find(pages.begin(), pages.end(), wanted) != pages.end();
}

TEST(Pages, ReplyOfItsOwn_StaysTheThreads)
{
	const Thread thread;
	ASSERT_TRUE(thread);
	const std::vector<page *> before = thread.reply_pages(4);
	thread.encode(4);
	thread.keep();
	EXPECT_EQ(thread.refill(), 0u);
	EXPECT_TRUE(thread.reply_pages(4) == before);
}

TEST(Pages, ReplyNotKept_IsAllocatedAnew)
{
	const Thread thread;
	ASSERT_TRUE(thread);
	thread.encode(4);
	EXPECT_EQ(thread.refill(), 4u);
}

TEST(Pages, FilesPages_AreLetGoForThoseTheyReplaced)
{
	const Thread thread;
	ASSERT_TRUE(thread);
	const std::vector<page *> before = thread.reply_pages(3);
	const FilePage one;
	const FilePage other(false);
	thread.encode(1);
	ASSERT_TRUE(one.splice(thread) && other.splice(thread));
	EXPECT_FALSE(one.is_let_go() || other.is_let_go());
	thread.keep();
	EXPECT_TRUE(one.is_let_go() && other.is_let_go());
	EXPECT_EQ(thread.refill(), 0u);
	for (page *const each : thread.reply_pages(3))
		EXPECT_TRUE(is_in(before, each));
}

TEST(Pages, PageThatWasAFiles_IsNotKept)
{
	const Thread thread;
	ASSERT_TRUE(thread);
	const std::vector<page *> before = thread.reply_pages(2);
	FilePage truncated;
	thread.encode(1);
	ASSERT_TRUE(truncated.splice(thread));
	truncated.drop();
	thread.keep();
	EXPECT_EQ(thread.refill(), 0u);
	for (page *const each : thread.reply_pages(2))
		EXPECT_TRUE(is_in(before, each));
}

/* sunrpc has room for 15 or 31 of them, and frees them when there are more. With large pages a thread has no more. */
TEST(Pages, MoreThanCanBePutAside_AreAllocatedAnew)
{
	constexpr u32 most_put_aside = 31;
	const u32 count = std::min(most_put_aside + 9, rpcordma_fake_thread_pages() - 1);
	const Thread thread;
	ASSERT_TRUE(thread);
	const FilePage file;
	thread.encode(1);
	for (u32 i = 0; i < count; i++)
		ASSERT_TRUE(file.splice(thread));
	thread.keep();
	const u32 allocated = thread.refill();
	EXPECT_TRUE(allocated < count);
	EXPECT_TRUE(allocated > 0 || count <= most_put_aside);
	EXPECT_TRUE(file.is_let_go());
	for (page *const each : thread.reply_pages(count + 1))
		EXPECT_TRUE(each != nullptr);
}

/* A checksum behind a page that is full. */
TEST(Pages, FilledWithoutBeingCounted_ArePartOfTheReply)
{
	const Thread thread;
	ASSERT_TRUE(thread);
	const std::vector<page *> before = thread.reply_pages(4);
	thread.encode(2);
	rpcordma_fake_thread_fill(thread, kernel::page_size);
	EXPECT_EQ(rpcordma_svc_reply_pages(thread), 2u);
	rpcordma_fake_thread_fill(thread, 2 * kernel::page_size + 1);
	EXPECT_EQ(rpcordma_svc_reply_pages(thread), 4u);
	Pages held;
	held.take(rpcordma_svc_reply_pages_to_take(thread), 4);
	thread.keep();
	EXPECT_EQ(thread.refill(), 4u);
	EXPECT_TRUE(held[3] == before[3]);
	for (page *const each : thread.reply_pages(4))
		EXPECT_TRUE(each && !is_in(before, each));
}

/* sunrpc writes NULL there before each Call. */
TEST(Pages, NoneIsLeftBehindTheEnd)
{
	const u32 count = rpcordma_fake_thread_pages();
	const Thread thread;
	ASSERT_TRUE(thread);
	const FilePage file;
	FilePage last(false);
	thread.encode(count - 1);
	ASSERT_TRUE(file.splice(thread) && last.splice(thread));
	/* It could be kept, elsewhere. */
	last.drop();
	thread.keep();
	EXPECT_TRUE(rpcordma_fake_thread_page(thread, count) == nullptr);
	EXPECT_TRUE(file.is_let_go());
	EXPECT_EQ(thread.refill(), 0u);
}

TEST(Pages, HeldOnes_AreReplacedByThosePutAside)
{
	const Thread thread;
	ASSERT_TRUE(thread);
	const std::vector<page *> before = thread.reply_pages(3);
	const FilePage file;
	Pages held;
	thread.encode(2);
	ASSERT_TRUE(file.splice(thread));
	EXPECT_EQ(rpcordma_svc_reply_pages(thread), 3u);
	held.take(rpcordma_svc_reply_pages_to_take(thread) + 1, 2);
	thread.keep();
	EXPECT_FALSE(file.is_let_go());
	EXPECT_TRUE(held[0] == before[1]);
	/* One had been put aside, for two. */
	EXPECT_EQ(thread.refill(), 1u);
	held.release();
	EXPECT_TRUE(file.is_let_go());
	const std::vector<page *> after = thread.reply_pages(3);
	EXPECT_TRUE(is_in(after, before[0]) && is_in(after, before[2]));
}

TEST(Pages, ExchangedOnes_AreKeptForTheNextCall)
{
	const Thread thread;
	ASSERT_TRUE(thread);
	const long held_before = live_objects.held_pages.read();
	const long kept_before = live_objects.kept_pages.read();
	Pages pages;
	rpcordma_svc_pages_reset(thread);
	ASSERT_TRUE(pages.make_room(4));
	EXPECT_EQ(pages.missing(4), 4u);
	pages.take(rpcordma_svc_call_pages_to_take(thread, 4), 4);
	EXPECT_EQ(thread.refill(), 4u);
	EXPECT_EQ(live_objects.held_pages.read(), held_before + 4);

	page *const first = pages[0];
	pages.exchange(rpcordma_svc_call_pages_to_fill(thread, 4));
	EXPECT_EQ(pages.count(), 0u);
	EXPECT_EQ(live_objects.held_pages.read(), held_before);
	EXPECT_EQ(live_objects.kept_pages.read(), kept_before + 4);
	EXPECT_TRUE(rpcordma_svc_call_pages_to_fill(thread, 4)[0] == first);
	EXPECT_EQ(thread.refill(), 0u);

	/* A smaller Call takes none of the thread's, a larger one what it has more. */
	EXPECT_EQ(pages.missing(2), 0u);
	pages.take(rpcordma_svc_call_pages_to_take(thread, pages.missing(2)), 2);
	EXPECT_EQ(pages.count(), 2u);
	EXPECT_EQ(live_objects.kept_pages.read(), kept_before + 2);
	EXPECT_EQ(thread.refill(), 0u);
	EXPECT_EQ(pages.missing(6), 2u);
	pages.take(rpcordma_svc_call_pages_to_take(thread, pages.missing(6)), 6);
	EXPECT_EQ(thread.refill(), 2u);
	pages.release();
	EXPECT_EQ(live_objects.held_pages.read(), held_before);
	EXPECT_EQ(live_objects.kept_pages.read(), kept_before);
}

/* There are no more in the fake thread than 80, and no fewer than 260 are usual: those are room alone. */
TEST(Pages, UnusuallyMany_AreNotKept)
{
	const Thread thread;
	ASSERT_TRUE(thread);
	const long kept_before = live_objects.kept_pages.read();
	Pages pages;
	rpcordma_svc_pages_reset(thread);
	ASSERT_TRUE(pages.make_room(2));
	pages.take(rpcordma_svc_call_pages_to_take(thread, 2), 2);
	EXPECT_EQ(thread.refill(), 2u);
	pages.exchange(rpcordma_svc_call_pages_to_fill(thread, 2));
	EXPECT_EQ(live_objects.kept_pages.read(), kept_before + 2);
	ASSERT_TRUE(pages.make_room(0x400000u / kernel::page_size + 4));
	EXPECT_EQ(live_objects.kept_pages.read(), kept_before);
	pages.take(rpcordma_svc_call_pages_to_take(thread, 3), 3);
	EXPECT_EQ(thread.refill(), 3u);
	pages.exchange(rpcordma_svc_call_pages_to_fill(thread, 3));
	EXPECT_EQ(live_objects.kept_pages.read(), kept_before);
	EXPECT_EQ(pages.missing(1), 1u);
}

} // namespace
} // namespace rpcordma::kunit
