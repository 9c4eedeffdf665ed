// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include <numeric>
#include <random>

#include "harness/unit/stream_model.hh"
#include "proto/reply.hh"
#include "proto/response.hh"

namespace rpcordma::proto {

bool operator==(const Item &a, const Item &b)
{
	return a.offset == b.offset && a.length == b.length;
}

void PrintTo(const Item &item, std::ostream *out)
{
	*out << item.offset << "+" << item.length;
}

} // namespace rpcordma::proto

namespace rpcordma::unit {
namespace {

using namespace proto;
using wire::Handle;
using wire::Segment;
using wire::Xid;

using Items = std::vector<Item>;
using Segments = std::vector<Segment>;

constexpr Xid xid{0xfeedbeef};

/// A chunk of these lengths.
Segments segments(std::initializer_list<std::uint32_t> lengths)
{
	Segments chunk;
	for (const std::uint32_t length : lengths)
		chunk.push_back({Handle{length}, length, std::uint64_t{length} << 24});
	return chunk;
}

/// What a requester offers for its Reply.
class Offered {
    public:
	explicit Offered(std::vector<Segments> writes, std::optional<Segments> reply = {})
		: writes_(std::move(writes))
		, arrays_(writes_.begin(), writes_.end())
		, reply_(std::move(reply))
		, received_({{}, arrays_, reply_ ? std::optional<wire::SegmentArray>(*reply_) : std::nullopt})
	{
	}
	const wire::Chunks &operator*() const { return *received_; }
	const wire::Chunks *operator->() const { return &*received_; }
	/// The same as the requester remembers it.
	Offer offer() const
	{
		return {writes_.empty() ? wire::SegmentArray{} : arrays_.front(),
			reply_ ? wire::SegmentArray(*reply_) : wire::SegmentArray{}};
	}

    private:
	std::vector<Segments> writes_;
	std::vector<wire::SegmentArray> arrays_;
	std::optional<Segments> reply_;
	ReceivedChunks received_;
};

Items all(const ReducedItems &reduced)
{
	return {reduced.span().begin(), reduced.span().end()};
}

TEST(Item, AsConstructed_IsEmpty)
{
	EXPECT_EQ(Item(), (Item{0, 0}));
}

TEST(ReducedItems, AtFirst_AreNone)
{
	EXPECT_TRUE(ReducedItems().span().empty());
}

TEST(ReducedItems, AsManyAsThereAreChunks_AreTaken)
{
	const Offered offered({segments({100}), segments({50, 50})});
	ReducedItems items;
	items.add({20, 100}, offered->writes);
	items.add({120, 7}, offered->writes);
	items.add({200, 8}, offered->writes);
	items.add({0, 1000}, offered->writes);
	EXPECT_EQ(all(items), (Items{{20, 100}, {120, 7}}));
}

TEST(ReducedItems, BehindTheEndOfTheReply_LeaveTheirChunksUnused)
{
	const Offered offered({segments({100}), segments({100}), segments({100})});
	ReducedItems items;
	items.add({20, 8}, offered->writes);
	items.add({40, 8}, offered->writes);
	items.add({60, 8}, offered->writes);
	items.end_at(41);
	EXPECT_EQ(all(items), (Items{{20, 8}, {40, 8}, {0, 0}}));
	items.end_at(40);
	EXPECT_EQ(all(items), (Items{{20, 8}, {0, 0}, {0, 0}}));
}

TEST(ReducedItems, WithoutAWriteList_StayInTheStream)
{
	const Offered offered({}, segments({1000}));
	ReducedItems items;
	items.add({20, 100}, offered->writes);
	EXPECT_TRUE(items.span().empty());
}

TEST(ReducedItems, MoreThanAnotherListHasChunks_StayInTheStream)
{
	const Offered two({segments({100}), segments({100})});
	const Offered one({segments({100})});
	const Offered nothing({});
	ReducedItems items;
	items.add({0, 8}, two->writes);
	items.add({8, 8}, two->writes);
	items.add({16, 8}, one->writes);
	items.add({16, 8}, nothing->writes);
	EXPECT_EQ(all(items), (Items{{0, 8}, {8, 8}}));
}

TEST(ReducedItems, OfAnEmptyChunk_StayInTheStream)
{
	const Offered offered({Segments{}, segments({8}), Segments{}});
	ReducedItems items;
	items.add({20, 100}, offered->writes);
	items.add({120, 8}, offered->writes);
	items.add({128, 0xffffff00}, offered->writes);
	EXPECT_TRUE(items.can_be_sent());
	EXPECT_EQ(all(items), (Items{{20, 0}, {120, 8}, {128, 0}}));
	const auto plan = plan_reply(1000, items, *offered, wire::Version::one, 4096);
	ASSERT_TRUE(plan.has_value());
	EXPECT_EQ(plan->reduced_size, 1000u - 8);
}

TEST(ReducedItems, LongerThanTheirChunk_CannotBeSent)
{
	const Offered offered({segments({60, 40}), segments({0}), segments({8})});
	ReducedItems items;
	items.add({20, 100}, offered->writes);
	items.add({120, 0}, offered->writes);
	items.add({120, 8}, offered->writes);
	EXPECT_TRUE(items.can_be_sent());
	EXPECT_EQ(all(items), (Items{{20, 100}, {120, 0}, {120, 8}}));
	for (const Items &too_long : {Items{{20, 101}}, Items{{20, 0xffffffff}}, Items{{20, 100}, {120, 1}},
				      Items{{20, 100}, {120, 0}, {120, 9}}}) {
		ReducedItems others;
		for (const Item &item : too_long)
			others.add(item, offered->writes);
		EXPECT_FALSE(others.can_be_sent());
		EXPECT_EQ(plan_reply(1000, others, *offered, wire::Version::one, 4096).error(),
			  ReplyPlanError::item_too_long);
	}
	EXPECT_TRUE(plan_reply(1000, items, *offered, wire::Version::one, 4096).has_value());
}

TEST(ReducedItems, ThatCannotBeSent_MayBeGivenUp)
{
	const Offered offered({segments({10})});
	ReducedItems items;
	items.add({40, 11}, offered->writes);
	items.add({60, 11}, offered->writes);
	items.add({50, 11}, offered->writes);
	items.end_at(41);
	EXPECT_FALSE(items.can_be_sent());
	items.end_at(40);
	EXPECT_TRUE(items.can_be_sent());
}

TEST(ItemNamedByItsCount, BeginsBehindIt)
{
	constexpr Item text{100, 7};
	EXPECT_TRUE(begins_at_its_count(text, 0, 7));
	EXPECT_FALSE(begins_at_its_count(text, 7, 0));
	EXPECT_FALSE(begins_at_its_count(text, 7, 7));
	EXPECT_FALSE(begins_at_its_count(text, 0, 0x61626364));
}

TEST(ReducedItems, OfChunksLongerThan32Bits_AreTaken)
{
	const Offered offered({segments({0x80000000, 0x80000000})});
	ReducedItems items;
	items.add({20, 100}, offered->writes);
	EXPECT_EQ(all(items), (Items{{20, 100}}));
}

TEST(ReducedItems, BeforeTheEndOfTheLast_CannotBeSent)
{
	const Offered offered({segments({100}), segments({100}), segments({100})});
	ReducedItems items;
	items.add({0, 10}, offered->writes);
	items.add({10, 1}, offered->writes);
	items.add({0xffffffff, 1}, offered->writes);
	EXPECT_TRUE(items.can_be_sent());
	EXPECT_EQ(all(items), (Items{{0, 10}, {10, 1}, {0xffffffff, 1}}));
	for (const Item &early : {Item{0, 10}, Item{9, 1}}) {
		ReducedItems others;
		others.add({0, 10}, offered->writes);
		others.add(early, offered->writes);
		EXPECT_FALSE(others.can_be_sent());
	}
}

TEST(ReducedItems, BehindOneAtTheEndOf32Bits_DoNotBeginAgainAtZero)
{
	const Offered offered({segments({100}), segments({100})});
	ReducedItems items;
	items.add({0xffffffff, 2}, offered->writes);
	EXPECT_TRUE(items.can_be_sent());
	items.add({1, 1}, offered->writes);
	EXPECT_FALSE(items.can_be_sent());
}

TEST(ReducedItems, MoreThanCanBeHeld_StayInTheStream)
{
	const Offered offered(std::vector<Segments>(60, segments({100})));
	ReducedItems items;
	for (std::uint32_t i = 0; i < 60; ++i)
		items.add({8 * i, 8}, offered->writes);
	ASSERT_EQ(items.span().size(), 50u);
	EXPECT_EQ(items.span().back(), (Item{392, 8}));
	EXPECT_EQ(ReducedItems::most, 50u);
}

/// The stretches that are left.
Items left(std::uint32_t size, const Items &items)
{
	Items stretches;
	Remainder remainder(size, items);
	for (auto stretch = remainder.next(); stretch && stretches.size() < 100; stretch = remainder.next())
		stretches.push_back(*stretch);
	EXPECT_EQ(remainder.next(), std::nullopt);
	std::uint32_t sum = 0;
	for (const Item &stretch : stretches)
		sum += stretch.length;
	EXPECT_EQ(reduced_size(size, items), sum);
	return stretches;
}

TEST(Remainder, WithoutItems_IsAllOfIt)
{
	EXPECT_EQ(left(0, {}), Items{});
	EXPECT_EQ(left(1, {}), (Items{{0, 1}}));
	EXPECT_EQ(left(0xffffffff, {}), (Items{{0, 0xffffffff}}));
}

TEST(Remainder, OfAnItem_IsWhatIsAroundIt)
{
	EXPECT_EQ(left(200, {{20, 100}}), (Items{{0, 20}, {120, 80}}));
	EXPECT_EQ(left(200, {{0, 100}}), (Items{{100, 100}}));
	EXPECT_EQ(left(200, {{100, 100}}), (Items{{0, 100}}));
	EXPECT_EQ(left(200, {{0, 200}}), Items{});
}

TEST(Remainder, OfAnItem_IsWithoutItsPadding)
{
	EXPECT_EQ(left(200, {{20, 97}}), (Items{{0, 20}, {120, 80}}));
	EXPECT_EQ(left(200, {{20, 98}}), (Items{{0, 20}, {120, 80}}));
	EXPECT_EQ(left(200, {{20, 99}}), (Items{{0, 20}, {120, 80}}));
	EXPECT_EQ(left(120, {{20, 97}}), (Items{{0, 20}}));
}

TEST(Remainder, OfAnItemWhosePaddingWasLeftOut_EndsWithIt)
{
	EXPECT_EQ(left(117, {{20, 97}}), (Items{{0, 20}}));
	EXPECT_EQ(left(118, {{20, 97}}), (Items{{0, 20}}));
}

TEST(Remainder, OfEmptyItems_IsAllOfIt)
{
	EXPECT_EQ(left(200, {{20, 0}}), (Items{{0, 200}}));
	EXPECT_EQ(left(200, {{20, 0}, {20, 0}, {100, 8}}), (Items{{0, 100}, {108, 92}}));
	EXPECT_EQ(left(0, {{0, 0}}), Items{});
}

TEST(Remainder, OfSeveralItems_IsWhatIsBetweenThem)
{
	EXPECT_EQ(left(200, {{20, 10}, {40, 8}, {48, 8}, {60, 1}}), (Items{{0, 20}, {32, 8}, {56, 4}, {64, 136}}));
}

TEST(Remainder, OfAnItemInThePaddingOfAnother_HasNothingTwice)
{
	EXPECT_EQ(left(200, {{20, 1}, {21, 1}, {22, 20}}), (Items{{0, 20}, {42, 158}}));
	EXPECT_EQ(left(200, {{20, 1}, {23, 1}}), (Items{{0, 20}, {27, 173}}));
}

TEST(Remainder, OfItemsBehindTheEnd_IsAllOfIt)
{
	EXPECT_EQ(left(200, {{200, 4}}), (Items{{0, 200}}));
	EXPECT_EQ(left(200, {{0xfffffffc, 4}}), (Items{{0, 200}}));
	EXPECT_EQ(left(200, {{0xffffffff, 0xffffffff}}), (Items{{0, 200}}));
	EXPECT_EQ(left(200, {{100, 0xffffffff}}), (Items{{0, 100}}));
	EXPECT_EQ(left(200, {{196, 1}, {250, 1}}), (Items{{0, 196}}));
	EXPECT_EQ(left(200, {{0, 8}, {250, 1}}), (Items{{8, 192}}));
}

/// Items in their order, some empty, some with their padding left out at the end.
Items random_items(std::mt19937 &random, std::uint32_t size)
{
	Items items;
	std::uint32_t at = 0;
	while (random() % 4 != 0 && at < size) {
		const std::uint32_t offset = at + random() % (size - at);
		const std::uint32_t length = random() % (size - offset + 1);
		items.push_back({offset, random() % 2 == 0 ? length : length % 8});
		at = offset + items.back().length;
	}
	return items;
}

TEST(AnyRemainder, IsWhatTheModelLeaves)
{
	std::mt19937 random(1);
	for (int i = 0; i < rounds(2000); ++i) {
		const auto size = static_cast<std::uint32_t>(random() % 200);
		const Items items = random_items(random, size);
		const auto expected = model::remainder_of(size, items);
		ASSERT_EQ(model::walked(size, items), expected) << i;
		ASSERT_EQ(reduced_size(size, items), expected.size()) << i;
	}
}

/// Transfer and reduced size, or why not.
using Planned = std::expected<std::pair<ReplyTransfer, std::uint32_t>, ReplyPlanError>;

Planned plan(std::uint32_t size, const Items &items, const Offered &offered, std::uint32_t threshold)
{
	const auto planned = plan_reply(size, items, *offered, wire::Version::one, threshold);
	if (!planned)
		return std::unexpected(planned.error());
	return std::pair{planned->transfer, planned->reduced_size};
}

constexpr auto short_reply = ReplyTransfer::short_reply;
constexpr auto long_reply = ReplyTransfer::long_reply;
constexpr auto fits_nowhere = std::unexpected(ReplyPlanError::fits_nowhere);

TEST(ShortReply_ToACall, FillsTheThresholdToTheByte)
{
	const Offered nothing({});
	EXPECT_EQ(plan(100, {}, nothing, 128), (Planned{{short_reply, 100}}));
	EXPECT_EQ(plan(101, {}, nothing, 128), Planned{fits_nowhere});
	const Offered offered({segments({100, 100})}, segments({99}));
	// One Write chunk of two segments, and a Reply chunk of one.
	constexpr std::uint32_t header = 28 + (8 + 32) + (4 + 16);
	EXPECT_EQ(plan(100, {}, offered, header + 100), (Planned{{short_reply, 100}}));
	EXPECT_EQ(plan(100, {}, offered, header + 99), Planned{fits_nowhere});
}

TEST(ShortReply_ToACall, IsPreferredToAReplyChunk)
{
	const Offered offered({}, segments({1000}));
	EXPECT_EQ(plan(100, {}, offered, 148), (Planned{{short_reply, 100}}));
	EXPECT_EQ(plan(100, {}, offered, 147), (Planned{{long_reply, 100}}));
}

TEST(ShortReply_ToACall, LeavesItsItemsToWriteChunks)
{
	const Offered offered({segments({1001})});
	EXPECT_EQ(plan(1100, {{40, 1001}}, offered, 28 + 24 + 96), (Planned{{short_reply, 96}}));
	EXPECT_EQ(plan(1100, {{40, 1001}}, offered, 28 + 24 + 95), Planned{fits_nowhere});
}

TEST(LongReply_ToACall, FillsTheReplyChunkToTheByte)
{
	const Offered offered({}, segments({400, 600}));
	EXPECT_EQ(plan(1000, {}, offered, 64), (Planned{{long_reply, 1000}}));
	EXPECT_EQ(plan(1001, {}, offered, 64), Planned{fits_nowhere});
}

TEST(LongReply_ToACall, LeavesItsItemsToWriteChunks)
{
	const Offered offered({segments({1000})}, segments({500}));
	EXPECT_EQ(plan(1500, {{40, 1000}}, offered, 72), (Planned{{long_reply, 500}}));
	EXPECT_EQ(plan(1501, {{40, 1000}}, offered, 72), Planned{fits_nowhere});
}

TEST(LongReply_ToACall, NeedsRoomForItsHeader)
{
	const Offered offered({}, segments({1000}));
	EXPECT_EQ(plan(1000, {}, offered, 48), (Planned{{long_reply, 1000}}));
	EXPECT_EQ(plan(1000, {}, offered, 47), Planned{fits_nowhere});
}

TEST(LongReply_ToACall, TakesAReplyChunkLongerThan32Bits)
{
	const Offered offered({}, segments({0xffffffff, 0xffffffff}));
	EXPECT_EQ(plan(0xffffffff, {}, offered, 64), (Planned{{long_reply, 0xffffffff}}));
}

TEST(Reply_OfTheLargestSize, DoesNotOverflow)
{
	const Offered nothing({});
	EXPECT_EQ(plan(0xffffffff, {}, nothing, 0xffffffff), Planned{fits_nowhere});
	EXPECT_EQ(plan(0xffffffff - 28, {}, nothing, 0xffffffff), (Planned{{short_reply, 0xffffffff - 28}}));
}

TEST(Reply_WithAnItemBehindItsEnd, FitsNowhere)
{
	const Offered offered({segments({1000})}, segments({1000}));
	EXPECT_EQ(plan(100, {{40, 60}}, offered, 4096), (Planned{{short_reply, 40}}));
	EXPECT_EQ(plan(100, {{40, 61}}, offered, 4096), Planned{fits_nowhere});
	EXPECT_EQ(plan(100, {{101, 0}}, offered, 4096), Planned{fits_nowhere});
	EXPECT_EQ(plan(100, {{0xffffffff, 1}}, offered, 4096), Planned{fits_nowhere});
	EXPECT_EQ(plan(100, {{40, 4}, {44, 57}}, offered, 4096), Planned{fits_nowhere});
}

/// What a requester makes of a Reply that is sent as planned, `size` bytes of it, with what the chunks hold.
std::expected<Accepted, ReplyError> accepted(const Offered &offered, const Items &items, std::uint32_t size,
					     std::uint32_t threshold)
{
	const auto planned = plan_reply(size, items, *offered, wire::Version::one, threshold);
	EXPECT_TRUE(planned);
	const bool is_long = planned->transfer == long_reply;
	std::vector<std::uint32_t> written;
	for (const Item &item : items)
		written.push_back(item.length);
	const wire::ReturnedChunks chunks{offered->writes, written, offered->reply,
					  is_long ? planned->reduced_size : 0};
	std::vector<std::byte> bytes(RPCRDMA_V1_FIXED_SIZE + chunks.size());
	EXPECT_EQ(wire::encode(bytes, {xid, wire::Version::one, 1, wire::Direction::reply, is_long}, chunks),
		  bytes.size());
	if (!is_long) {
		const std::vector<std::byte> start = on_wire({std::to_underlying(xid), 1});
		bytes.insert(bytes.end(), start.begin(), start.end());
		bytes.resize(bytes.size() - start.size() + planned->reduced_size);
	}
	EXPECT_LE(bytes.size(), threshold);
	const Exact received(bytes);
	const auto header = wire::decode(received);
	EXPECT_TRUE(header);
	return accept_reply(header->body, xid, offered.offer());
}

TEST(SentReply, OfAnItem_IsAcceptedByItsRequester)
{
	const Offered offered({segments({4096, 8192, 100})});
	for (const std::uint32_t length : {0u, 1u, 4095u, 4096u, 4097u, 12288u, 12289u, 12388u}) {
		const std::uint32_t size = 100 + length + wire::roundup_padding(length);
		const auto reply = accepted(offered, {{60, length}}, size, 4096);
		ASSERT_TRUE(reply) << length;
		const auto *its = std::get_if<proto::ShortReply>(&*reply);
		ASSERT_TRUE(its) << length;
		EXPECT_EQ(its->written, length);
		EXPECT_EQ(its->payload.size(), 100u);
	}
}

TEST(SentReply, InAReplyChunk_IsAcceptedByItsRequester)
{
	const Offered offered({}, segments({4096, 8192, 100}));
	for (const std::uint32_t size : {4000u, 4095u, 4096u, 4097u, 12288u, 12289u, 12388u}) {
		const auto reply = accepted(offered, {}, size, 1024);
		ASSERT_TRUE(reply) << size;
		const auto *its = std::get_if<proto::LongReply>(&*reply);
		ASSERT_TRUE(its) << size;
		EXPECT_EQ(its->length, size);
	}
}

TEST(SentReply, ThatDoesWithoutItsReplyChunk_IsAcceptedByItsRequester)
{
	const Offered offered({}, segments({4096, 8192, 100}));
	const auto reply = accepted(offered, {}, 900, 1024);
	ASSERT_TRUE(reply);
	const auto *its = std::get_if<proto::ShortReply>(&*reply);
	ASSERT_TRUE(its);
	EXPECT_EQ(its->payload.size(), 900u);
}

std::vector<wire::Segment> written_to(const wire::WriteChunk &chunk, std::uint32_t length, std::size_t most = ~0u)
{
	std::vector<wire::Segment> seen;
	const bool all = proto::for_each_written(chunk, length, [&](const wire::Segment &segment) {
		if (seen.size() == most)
			return false;
		seen.push_back(segment);
		return true;
	});
	EXPECT_EQ(all, seen.size() < most || length == 0);
	return seen;
}

TEST(WrittenSegments, AreFilledInOrder)
{
	const Offered offered({}, segments({100, 0, 50, 8}));
	const wire::WriteChunk &chunk = *offered->reply;
	EXPECT_TRUE(written_to(chunk, 0).empty());
	for (const auto &[length, lengths] : std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>>{
		     {1, {1}}, {100, {100}}, {101, {100, 1}}, {150, {100, 50}}, {158, {100, 50, 8}}}) {
		const std::vector<wire::Segment> seen = written_to(chunk, length);
		ASSERT_EQ(seen.size(), lengths.size()) << length;
		for (std::size_t i = 0; i < seen.size(); ++i)
			EXPECT_EQ(seen[i].length, lengths[i]) << length;
		EXPECT_EQ(seen[0].handle, chunk[0].handle);
		EXPECT_EQ(seen[0].offset, chunk[0].offset);
	}
	EXPECT_EQ(written_to(chunk, 158)[1].handle, chunk[2].handle);
}

TEST(WrittenSegments, EndWithTheFirstThatCannotBe)
{
	const Offered offered({}, segments({100, 50, 8}));
	EXPECT_EQ(written_to(*offered->reply, 158, 1).size(), 1u);
	EXPECT_EQ(written_to(*offered->reply, 158, 0).size(), 0u);
}

} // namespace
} // namespace rpcordma::unit
