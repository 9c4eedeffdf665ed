// SPDX-License-Identifier: GPL-2.0-only
/* That the fake device sees what it is there to see: each test does something wrong, on purpose. */
#include "kunit/verbs/fake.hh"

#include "kunit/verbs/queue_user.hh"
#include "verbs/mapped_block.hh"
#include "verbs/receive_queue.hh"
#include "verbs/registration.hh"
#include "verbs/send_queue.hh"

namespace rpcordma::kunit {
namespace {

namespace field = kernel::field;
using verbs::MappedBlock;

/* A Send of a block of memory, posted without any of the module's care. */
struct BareSend {
	BareSend(const MappedBlock &block, u32 size)
	{
		field::ib_cqe::done(cqe.get()) = [](ib_cq *, ib_wc *) {};
		field::ib_sge::addr(element.get()) = block.address();
		field::ib_sge::length(element.get()) = size;
		field::ib_sge::lkey(element.get()) = rpcordma_fake_lkey();
		field::ib_send_wr::opcode(request.get()) = kernel::IB_WR_SEND;
		field::ib_send_wr::wr_cqe(request.get()) = cqe.get();
		field::ib_send_wr::sg_list(request.get()) = element.get();
		field::ib_send_wr::num_sge(request.get()) = 1;
		field::ib_send_wr::send_flags(request.get()) = kernel::IB_SEND_SIGNALED;
	}
	kernel::Opaque<ib_cqe> cqe;
	kernel::Opaque<ib_sge> element;
	kernel::Opaque<ib_send_wr> request;
};

TEST(Block, WithoutASync_IsNotSeenByTheDevice)
{
	Fake fake;
	ASSERT_TRUE(fake);
	MappedBlock block;
	ASSERT_TRUE(block.map(fake.device(), 64, kernel::DMA_TO_DEVICE, kernel::GFP_KERNEL));
	const std::vector<std::byte> content = pattern(64);
	std::copy(content.begin(), content.end(), block.bytes().begin());
	BareSend send(block, 64);
	ASSERT_EQ(rpcordma_post_send(fake.qp(), send.request.get()), 0);
	fake.run();
	EXPECT_EQ(copy_of(fake.arrived()), std::vector<std::byte>(64));
	block.sync_for_device(32);
	ASSERT_EQ(rpcordma_post_send(fake.qp(), send.request.get()), 0);
	fake.run();
	EXPECT_EQ(copy_of(fake.arrived().first(32)), copy_of(std::span(content).first(32)));
	EXPECT_EQ(copy_of(fake.arrived().subspan(32)), std::vector<std::byte>(32));
}

TEST(Block, UnmappedWhilePosted_IsAProblem)
{
	Fake fake;
	ASSERT_TRUE(fake);
	fake.expect_problem("memory was unmapped that the device or the peer can still reach");
	std::optional<BareSend> send;
	{
		MappedBlock block;
		ASSERT_TRUE(block.map(fake.device(), 64, kernel::DMA_TO_DEVICE, kernel::GFP_KERNEL));
		send.emplace(block, 64u);
		ASSERT_EQ(rpcordma_post_send(fake.qp(), send->request.get()), 0);
	}
	fake.drain();
}

TEST(Block, OutOfReach_IsAProblem)
{
	Fake fake;
	ASSERT_TRUE(fake);
	fake.expect_problem("the device reached for memory that is not mapped");
	MappedBlock block;
	ASSERT_TRUE(block.map(fake.device(), 64, kernel::DMA_TO_DEVICE, kernel::GFP_KERNEL));
	BareSend send(block, 65);
	ASSERT_EQ(rpcordma_post_send(fake.qp(), send.request.get()), 0);
	fake.run();
}

TEST(Block, UsedInTheOtherDirection_IsAProblem)
{
	Fake fake;
	ASSERT_TRUE(fake);
	fake.expect_problem("the device used memory in the direction that it is not mapped for");
	MappedBlock block;
	ASSERT_TRUE(block.map(fake.device(), 64, kernel::DMA_FROM_DEVICE, kernel::GFP_KERNEL));
	BareSend send(block, 64);
	ASSERT_EQ(rpcordma_post_send(fake.qp(), send.request.get()), 0);
	fake.run();
}

TEST(Block, GivenToTheProcessor_IsAProblem)
{
	Fake fake;
	ASSERT_TRUE(fake);
	fake.expect_problem("the device used memory that the processor has (no sync for the device)");
	MappedBlock block;
	ASSERT_TRUE(block.map(fake.device(), 64, kernel::DMA_TO_DEVICE, kernel::GFP_KERNEL));
	block.sync_for_cpu(64);
	BareSend send(block, 64);
	ASSERT_EQ(rpcordma_post_send(fake.qp(), send.request.get()), 0);
	fake.run();
}

TEST(Block, WithoutMemoryOrMapping_HoldsNothing)
{
	Fake fake;
	ASSERT_TRUE(fake);
	for_each_failed_allocation([&] {
		MappedBlock block;
		const bool mapped = block.map(fake.device(), 64, kernel::DMA_TO_DEVICE, kernel::GFP_KERNEL);
		EXPECT_EQ(rpcordma_fake_dma_mappings(fake), mapped ? 1u : 0u);
		return mapped;
	});
	MappedBlock block;
	rpcordma_fake_fail(fake, RPCORDMA_FAKE_DMA_MAP, 1);
	EXPECT_FALSE(block.map(fake.device(), 64, kernel::DMA_TO_DEVICE, kernel::GFP_KERNEL));
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 0u);
}

TEST(SendQueue, TooFull_IsAProblem)
{
	Fake fake(small);
	ASSERT_TRUE(fake);
	fake.expect_problem("the send queue was filled beyond its depth");
	MappedBlock block;
	ASSERT_TRUE(block.map(fake.device(), 64, kernel::DMA_TO_DEVICE, kernel::GFP_KERNEL));
	BareSend send(block, 64);
	for (u32 i = 0; i < small.send_depth; i++)
		ASSERT_EQ(rpcordma_post_send(fake.qp(), send.request.get()), 0);
	/* Executed, but nobody has polled: the slots are taken. */
	rpcordma_fake_execute(fake, ~0u);
	EXPECT_NE(rpcordma_post_send(fake.qp(), send.request.get()), 0);
}

TEST(Elements, TooMany_AreAProblem)
{
	Fake fake(small);
	ASSERT_TRUE(fake);
	fake.expect_problem("a work request has more elements than the device takes");
	MappedBlock block;
	ASSERT_TRUE(block.map(fake.device(), 64, kernel::DMA_TO_DEVICE, kernel::GFP_KERNEL));
	BareSend send(block, 64);
	field::ib_send_wr::num_sge(send.request.get()) = 4;
	EXPECT_NE(rpcordma_post_send(fake.qp(), send.request.get()), 0);
}

TEST(Registration, IsCounted)
{
	Fake fake;
	ASSERT_TRUE(fake);
	ib_mr *const mr = ib_alloc_mr(fake.pd(), kernel::IB_MR_TYPE_MEM_REG, 1);
	ASSERT_EQ(rpcordma_pointer_error(mr), 0);
	EXPECT_EQ(rpcordma_fake_registrations(fake), 1u);
	ib_dereg_mr_user(mr, nullptr);
	EXPECT_EQ(rpcordma_fake_registrations(fake), 0u);
}

struct Nobody final : QueueUser {};

TEST(Registration, UnmappedWhileValid_IsAProblem)
{
	Fake fake;
	ASSERT_TRUE(fake);
	fake.expect_problem("memory was unmapped that the device or the peer can still reach");
	Nobody nobody;
	Pages pages(1);
	verbs::SendQueue queue(fake.device(), rpcordma_fake_lkey(), 64, 8, nobody);
	queue.attach(fake.qp());
	verbs::RegistrationPool pool(fake.device(), fake.pd(), queue, 1, nobody);
	verbs::Registrations taken;
	ASSERT_TRUE(pool.prepare(1));
	ASSERT_TRUE(pool.take(1, taken));
	const verbs::Run run = verbs::Run::of_pages(pages.data(), 0, 64);
	verbs::PageCursor cursor({&run, 1});
	ASSERT_EQ(taken.front()->map(cursor, {1, 64}, verbs::Access::write), verbs::Mapped::yes);
	ASSERT_EQ(rpcordma_post_send(fake.qp(), taken.front()->register_request()), 0);
	fake.run();
	taken.front()->unmap();
	pool.put_back(taken);
	fake.drain();
}

} // namespace
} // namespace rpcordma::kunit
