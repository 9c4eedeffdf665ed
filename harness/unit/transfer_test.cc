// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include <vector>

#include "proto/transfer.hh"

namespace rpcordma::unit {
namespace {

using namespace proto;

constexpr std::uint32_t largest = 0xffffffff;
constexpr InlineThresholds defaults{1024, 1024};

// Header sizes, counted by hand: four fixed fields and three list ends make 28 bytes, a Read segment in the list 24, a
// Write chunk 8 and 16 for each segment, a Reply chunk 4 and 16 for each segment.
constexpr std::uint32_t bare_header = 28;

/// The number of segments that registering each Extent takes.
struct SegmentCounts {
	std::uint32_t pages;
	std::uint32_t whole;
	/// Where it is noted which of them is asked for.
	std::vector<Extent> *asked = nullptr;

	std::uint32_t operator()(Extent extent) const
	{
		if (asked)
			asked->push_back(extent);
		return extent == Extent::pages ? pages : whole;
	}
};

/// One transaction, small both ways until a test says otherwise.
struct Transaction {
	Stream call{.head = 100};
	SegmentCounts call_segments{1, 1};
	Stream reply{.head = 100};
	SegmentCounts reply_segments{1, 1};
	InlineThresholds thresholds = defaults;
	Reduction reduction = Reduction::allowed;
	wire::Version version = wire::Version::one;

	[[nodiscard]] std::expected<Plan, PlanError> plan() const
	{
		return plan_transfer(call, call_segments, reply, reply_segments, {version, thresholds}, reduction);
	}
};

void expect_plan(const Transaction &transaction, const Plan &expected)
{
	const auto plan = transaction.plan();
	ASSERT_TRUE(plan);
	EXPECT_EQ(plan->call, expected.call);
	EXPECT_EQ(plan->reply, expected.reply);
	EXPECT_EQ(plan->header_size, expected.header_size);
	EXPECT_EQ(plan->tail_skip, expected.tail_skip);
	EXPECT_EQ(plan->inline_size, expected.inline_size);
}

Stream item(std::uint32_t head, std::uint32_t pages, std::uint32_t tail)
{
	return {head, pages, tail, true};
}

/// Thresholds of 1024 and 2048 bytes.
Terms terms_of(wire::Version version)
{
	return {version, {.call = 1024, .reply = 2048}};
}

/// Whether a Reply of that size fits.
bool reply_fits(wire::Version version, std::uint32_t size)
{
	const auto plan = plan_transfer({.head = 1}, SegmentCounts{1, 1}, {.head = size}, SegmentCounts{1, 1},
					terms_of(version), Reduction::allowed);
	return plan.value().reply == ReplyRoom::inline_message;
}

/// Whether a Call of that size fits, beside a Reply chunk of so many segments.
bool call_fits(wire::Version version, std::uint32_t size, std::uint32_t segments)
{
	const Stream reply{.head = segments == 0 ? 1u : 4000u};
	const auto plan = plan_transfer({.head = size}, SegmentCounts{1, 1}, reply, SegmentCounts{0, segments},
					terms_of(version), Reduction::allowed);
	return plan.value().call == CallTransfer::inline_message;
}

TEST(FitsInline, CountsTheHeader)
{
	for (const auto version : {wire::Version::one, wire::Version::two}) {
		const std::uint32_t header = version == wire::Version::one ? 28 : 32;
		EXPECT_TRUE(reply_fits(version, 2048 - header));
		EXPECT_FALSE(reply_fits(version, 2048 - header + 1));
		EXPECT_TRUE(call_fits(version, 1024 - header, 0));
		EXPECT_FALSE(call_fits(version, 1024 - header + 1, 0));
	}
}

TEST(FitsInline, CountsWhatTheCallOffersItsReply)
{
	constexpr std::uint32_t header = 28 + 4 + 2 * 16;
	EXPECT_TRUE(call_fits(wire::Version::one, 1024 - header, 2));
	EXPECT_FALSE(call_fits(wire::Version::one, 1024 - header + 1, 2));
}

TEST(FitsInline, CountsTheChunkThatIsOffered_AndNotTheOther)
{
	const Stream call{.head = 1024 - 28 - 8 - 16};
	const auto plan = plan_transfer(call, SegmentCounts{1, 1}, item(100, 4096, 4), SegmentCounts{1, 5},
					terms_of(wire::Version::one), Reduction::allowed);
	EXPECT_EQ(plan.value().call, CallTransfer::inline_message);
	EXPECT_EQ(plan.value().room_segments, 1u);
}

/// Which segments plan_transfer() has counted.
struct Counted {
	std::vector<Extent> call;
	std::vector<Extent> reply;
};

Counted counted_for(const Stream &call, const Stream &reply)
{
	Counted counted;
	EXPECT_TRUE(plan_transfer(call, SegmentCounts{1, 1, &counted.call}, reply, SegmentCounts{1, 1, &counted.reply},
				  {wire::Version::one, defaults}, Reduction::allowed));
	return counted;
}

TEST(Segments, AreNotCounted_WhereAllIsInline)
{
	const Counted counted = counted_for(item(100, 200, 4), item(100, 200, 4));
	EXPECT_TRUE(counted.call.empty());
	EXPECT_TRUE(counted.reply.empty());
}

TEST(Segments, AreCountedOfThePagesAlone_WhereTheseAreReduced)
{
	const Counted counted = counted_for(item(100, 4096, 4), item(100, 4096, 4));
	EXPECT_EQ(counted.call, std::vector{Extent::pages});
	EXPECT_EQ(counted.reply, std::vector{Extent::pages});
}

TEST(Segments, AreCountedOfTheWhole_WhereNothingIsReduced)
{
	const Counted counted = counted_for({.head = 4000}, {.head = 4000});
	EXPECT_EQ(counted.call, std::vector{Extent::whole});
	EXPECT_EQ(counted.reply, std::vector{Extent::whole});
}

TEST(Stream, AsConstructed_IsEmpty)
{
	const Stream stream;
	EXPECT_EQ(stream.head, 0u);
	EXPECT_EQ(stream.pages, 0u);
	EXPECT_EQ(stream.tail, 0u);
	EXPECT_FALSE(stream.pages_are_ddp_eligible);
	EXPECT_EQ(stream.size(), 0u);
}

TEST(Stream, Size_IsTheSumAndDoesNotOverflow)
{
	EXPECT_EQ((Stream{1, 20, 300}.size()), 321u);
	EXPECT_EQ((Stream{largest, largest, largest}.size()), 3ull * largest);
}

TEST(SmallTransaction, TravelsInline)
{
	expect_plan({}, {CallTransfer::inline_message, ReplyRoom::inline_message, bare_header, 0, 100});
}

TEST(SmallTransaction, WithEligiblePages_StillTravelsInline)
{
	expect_plan({.call = item(100, 200, 4), .reply = item(100, 200, 4)},
		    {CallTransfer::inline_message, ReplyRoom::inline_message, bare_header, 0, 304});
}

TEST(Plan, CountsTheSegmentsOfWhatTravelsByChunk)
{
	const auto counts = [](const Transaction &transaction) {
		const auto plan = transaction.plan();
		return std::pair{plan.value().read_segments, plan.value().room_segments};
	};
	const SegmentCounts call_segments{2, 3};
	const SegmentCounts reply_segments{4, 5};
	Transaction transaction{.call_segments = call_segments, .reply_segments = reply_segments};
	EXPECT_EQ(counts(transaction), std::pair(0u, 0u));
	transaction.call = item(100, 8192, 0);
	EXPECT_EQ(counts(transaction), std::pair(2u, 0u));
	transaction.reply = item(100, 8192, 0);
	EXPECT_EQ(counts(transaction), std::pair(2u, 4u));
	transaction.reduction = Reduction::forbidden;
	EXPECT_EQ(counts(transaction), std::pair(3u, 5u));
}

TEST(InlineCall, FillsTheThresholdToTheByte)
{
	expect_plan({.call = {.head = 996}},
		    {CallTransfer::inline_message, ReplyRoom::inline_message, bare_header, 0, 996});
	expect_plan({.call = {.head = 997}},
		    {CallTransfer::position_zero, ReplyRoom::inline_message, bare_header + 24, 0, 0});
	expect_plan({.call = {.head = 500, .pages = 400, .tail = 96}},
		    {CallTransfer::inline_message, ReplyRoom::inline_message, bare_header, 0, 996});
}

TEST(InlineCall, LeavesRoomForTheReplysChunk)
{
	Transaction transaction{.call = {.head = 996 - 20}, .reply = {.head = 2000}};
	expect_plan(transaction, {CallTransfer::inline_message, ReplyRoom::reply_chunk, bare_header + 20, 0, 976});
	transaction.call.head = 996 - 19;
	expect_plan(transaction, {CallTransfer::position_zero, ReplyRoom::reply_chunk, bare_header + 24 + 20, 0, 0});
}

TEST(InlineReply, FillsTheThresholdToTheByte)
{
	EXPECT_EQ(Transaction({.reply = {.head = 996}}).plan()->reply, ReplyRoom::inline_message);
	EXPECT_EQ(Transaction({.reply = {.head = 997}}).plan()->reply, ReplyRoom::reply_chunk);
	EXPECT_EQ(Transaction({.reply = item(500, 400, 96)}).plan()->reply, ReplyRoom::inline_message);
	EXPECT_EQ(Transaction({.reply = item(500, 400, 97)}).plan()->reply, ReplyRoom::write_chunk);
}

TEST(Thresholds, OfCallAndReply_AreNotMixedUp)
{
	const Transaction large_call{.call = {.head = 2000}, .reply = {.head = 2000}, .thresholds = {4096, 1024}};
	expect_plan(large_call, {CallTransfer::inline_message, ReplyRoom::reply_chunk, bare_header + 20, 0, 2000});
	const Transaction large_reply{.call = {.head = 2000}, .reply = {.head = 2000}, .thresholds = {1024, 4096}};
	expect_plan(large_reply, {CallTransfer::position_zero, ReplyRoom::inline_message, bare_header + 24, 0, 0});
}

TEST(WriteChunk_ForPages, LeavesTheRestInline)
{
	expect_plan({.reply = item(100, 1048576, 4), .reply_segments = {3, 5}},
		    {CallTransfer::inline_message, ReplyRoom::write_chunk, bare_header + 8 + 3 * 16, 0, 100});
}

TEST(WriteChunk_ForPages, FillsTheReplyThresholdToTheByte)
{
	// The Reply's header has the Write chunk, too: 28 + 8 + 2 * 16 = 68.
	Transaction transaction{.reply = item(900, 4096, 1024 - 68 - 900), .reply_segments = {2, 3}};
	EXPECT_EQ(transaction.plan()->reply, ReplyRoom::write_chunk);
	++transaction.reply.tail;
	EXPECT_EQ(transaction.plan()->reply, ReplyRoom::reply_chunk);
	--transaction.reply.tail;
	++transaction.reply.head;
	EXPECT_EQ(transaction.plan()->reply, ReplyRoom::reply_chunk);
	--transaction.reply.head;
	++transaction.reply_segments.pages;
	EXPECT_EQ(transaction.plan()->reply, ReplyRoom::reply_chunk);
}

TEST(WriteChunk_ForPages, NeedsAnEligibleItemAndReduction)
{
	Transaction transaction{.reply = item(100, 4096, 0)};
	EXPECT_EQ(transaction.plan()->reply, ReplyRoom::write_chunk);
	transaction.reduction = Reduction::forbidden;
	EXPECT_EQ(transaction.plan()->reply, ReplyRoom::reply_chunk);
	transaction.reduction = Reduction::allowed;
	transaction.reply.pages_are_ddp_eligible = false;
	EXPECT_EQ(transaction.plan()->reply, ReplyRoom::reply_chunk);
}

TEST(WriteChunk_ForPages, IsNotOfferedWithoutPages)
{
	EXPECT_EQ(Transaction({.reply = item(2000, 0, 0)}).plan()->reply, ReplyRoom::reply_chunk);
	EXPECT_EQ(Transaction({.reply = item(997, 0, 0), .reply_segments = {0, 1}}).plan()->reply,
		  ReplyRoom::reply_chunk);
}

TEST(WriteChunk_ForPages, NeedsSegments)
{
	EXPECT_EQ(Transaction({.reply = item(996, 1, 0), .reply_segments = {0, 1}}).plan()->reply,
		  ReplyRoom::reply_chunk);
}

TEST(ReplyChunk_ForTheWholeStream, CountsItsSegments)
{
	expect_plan({.reply = {.head = 100, .pages = 65536, .tail = 0}, .reply_segments = {7, 9}},
		    {CallTransfer::inline_message, ReplyRoom::reply_chunk, bare_header + 4 + 9 * 16, 0, 100});
}

TEST(ReadChunk_ForPages, LeavesTheRestInline)
{
	expect_plan({.call = item(200, 1048576, 0), .call_segments = {3, 5}},
		    {CallTransfer::read_chunk, ReplyRoom::inline_message, bare_header + 3 * 24, 0, 200});
}

TEST(ReadChunk_ForPages, TakesItsRoundupPaddingAway)
{
	const auto plan = [](std::uint32_t pages, std::uint32_t tail) {
		return *Transaction({.call = item(200, pages, tail)}).plan();
	};
	EXPECT_EQ(plan(4096, 20).tail_skip, 0u);
	EXPECT_EQ(plan(4096, 20).inline_size, 220u);
	EXPECT_EQ(plan(4097, 20).tail_skip, 3u);
	EXPECT_EQ(plan(4097, 20).inline_size, 217u);
	EXPECT_EQ(plan(4098, 20).tail_skip, 2u);
	EXPECT_EQ(plan(4099, 20).tail_skip, 1u);
	EXPECT_EQ(plan(4099, 20).inline_size, 219u);
}

TEST(ReadChunk_ForPages, SkipsNoMoreThanTheTail)
{
	const auto skip = [](std::uint32_t tail) {
		return Transaction({.call = item(200, 4097, tail)}).plan()->tail_skip;
	};
	EXPECT_EQ(skip(0), 0u);
	EXPECT_EQ(skip(1), 1u);
	EXPECT_EQ(skip(2), 2u);
	EXPECT_EQ(skip(3), 3u);
	EXPECT_EQ(skip(4), 3u);
}

TEST(ReadChunk_ForPages, FillsTheCallThresholdToTheByte)
{
	// 28 + 2 * 24 = 76 bytes of header; three bytes of the tail do not count.
	Transaction transaction{.call = item(900, 4097, 1024 - 76 - 900 + 3), .call_segments = {2, 3}};
	expect_plan(transaction, {CallTransfer::read_chunk, ReplyRoom::inline_message, 76, 3, 1024 - 76});
	++transaction.call.tail;
	expect_plan(transaction, {CallTransfer::position_zero, ReplyRoom::inline_message, bare_header + 3 * 24, 0, 0});
	--transaction.call.tail;
	transaction.call.head += 4;
	EXPECT_EQ(transaction.plan()->call, CallTransfer::position_zero);
	transaction.call.head -= 4;
	++transaction.call_segments.pages;
	EXPECT_EQ(transaction.plan()->call, CallTransfer::position_zero);
}

TEST(ReadChunk_ForPages, NeedsAnEligibleItemAndReduction)
{
	Transaction transaction{.call = item(200, 4096, 0)};
	EXPECT_EQ(transaction.plan()->call, CallTransfer::read_chunk);
	transaction.reduction = Reduction::forbidden;
	EXPECT_EQ(transaction.plan()->call, CallTransfer::position_zero);
	transaction.reduction = Reduction::allowed;
	transaction.call.pages_are_ddp_eligible = false;
	EXPECT_EQ(transaction.plan()->call, CallTransfer::position_zero);
	EXPECT_EQ(Transaction({.call = item(2000, 0, 0)}).plan()->call, CallTransfer::position_zero);
}

TEST(ReadChunk_ForPages, NeedsSegments)
{
	EXPECT_EQ(Transaction({.call = item(996, 1, 0), .call_segments = {0, 1}}).plan()->call,
		  CallTransfer::position_zero);
}

TEST(ReadChunk_ForPages, HasAPositionThatIsAMultipleOfFour)
{
	for (std::uint32_t head = 200; head < 208; ++head) {
		const bool is_position = head == 200 || head == 204;
		EXPECT_EQ(Transaction({.call = item(head, 4096, 0)}).plan()->call,
			  is_position ? CallTransfer::read_chunk : CallTransfer::position_zero);
	}
}

TEST(ReadChunk_ForPages, IsNeverAtPositionZero)
{
	EXPECT_EQ(Transaction({.call = item(0, 4096, 0)}).plan()->call, CallTransfer::position_zero);
	EXPECT_EQ(Transaction({.call = item(4, 4096, 0)}).plan()->call, CallTransfer::read_chunk);
}

TEST(ReadChunk_ForPages, GoesTogetherWithAnyReplyRoom)
{
	const Stream call = item(200, 4096, 0);
	expect_plan({.call = call, .reply = item(100, 4096, 0)},
		    {CallTransfer::read_chunk, ReplyRoom::write_chunk, bare_header + 24 + 24, 0, 200});
	expect_plan({.call = call, .reply = {.head = 2000}},
		    {CallTransfer::read_chunk, ReplyRoom::reply_chunk, bare_header + 24 + 20, 0, 200});
}

TEST(LongCall, CarriesNothingInline)
{
	expect_plan({.call = {.head = 100, .pages = 8192, .tail = 2}, .call_segments = {2, 4}},
		    {CallTransfer::position_zero, ReplyRoom::inline_message, bare_header + 4 * 24, 0, 0});
}

TEST(LongCall, WithProtection_GoesTogetherWithAReplyChunk)
{
	// rfc5666bis-04, 10.2.2.3: both lists in the same header.
	expect_plan({.call = item(200, 4097, 3), .reply = item(200, 4097, 3), .reduction = Reduction::forbidden},
		    {CallTransfer::position_zero, ReplyRoom::reply_chunk, bare_header + 24 + 20, 0, 0});
}

TEST(LongCall, WhoseHeaderFillsTheThreshold_IsTheLastResort)
{
	// 28 + 41 * 24 = 1012.
	Transaction transaction{.call = {.head = 2000}, .call_segments = {0, 41}, .thresholds = {1012, 1024}};
	expect_plan(transaction, {CallTransfer::position_zero, ReplyRoom::inline_message, 1012, 0, 0});
	--transaction.thresholds.call;
	EXPECT_EQ(error_of(transaction.plan()), PlanError::header_too_large);
	++transaction.thresholds.call;
	++transaction.call_segments.whole;
	EXPECT_EQ(error_of(transaction.plan()), PlanError::header_too_large);
}

TEST(Header_OfTooManySegments, IsRefused)
{
	EXPECT_EQ(error_of(Transaction({.reply = {.head = 2000}, .reply_segments = {0, 63}}).plan()),
		  PlanError::header_too_large);
	EXPECT_EQ(error_of(Transaction({.reply = {.head = 2000}, .reply_segments = {0, largest}}).plan()),
		  PlanError::header_too_large);
}

/// Each of the transactions has a header that fills its threshold to the byte, in version 1.
TEST(Plan_OfVersionTwo, HasAHeaderOfFourBytesMoreToTheByte)
{
	const Transaction inline_call{.call = {.head = 996}};
	const Transaction inline_call_with_room{.call = {.head = 976}, .reply = {.head = 2000}};
	const Transaction read_chunk{.call = item(900, 4096, 72), .call_segments = {1, 1}};
	const Transaction long_call{.call = {.head = 2000}, .call_segments = {0, 41}, .thresholds = {1012, 1024}};
	for (const Transaction &fitting : {inline_call, inline_call_with_room, read_chunk, long_call}) {
		const auto in_one = fitting.plan();
		ASSERT_TRUE(in_one);
		ASSERT_EQ(in_one->header_size + in_one->inline_size, fitting.thresholds.call);
		Transaction two = fitting;
		two.version = wire::Version::two;
		for (std::uint32_t more = 0; more < 4; ++more) {
			two.thresholds.call = fitting.thresholds.call + more;
			const auto plan = two.plan();
			EXPECT_TRUE(!plan || plan->call != in_one->call) << more;
		}
		two.thresholds.call = fitting.thresholds.call + 4;
		Plan expected = *in_one;
		expected.header_size += 4;
		expect_plan(two, expected);
	}
}

TEST(Plan_OfVersionTwo, LeavesRoomForTheLongerHeaderOfTheReply)
{
	// 28 + 8 + 2 * 16 = 68 bytes of header in version 1.
	const Transaction inline_reply{.reply = {.head = 996}};
	const Transaction write_chunk{.reply = item(900, 4096, 1024 - 68 - 900), .reply_segments = {2, 3}};
	for (const Transaction &fitting : {inline_reply, write_chunk}) {
		const auto in_one = fitting.plan();
		ASSERT_TRUE(in_one);
		EXPECT_NE(in_one->reply, ReplyRoom::reply_chunk);
		Transaction two = fitting;
		two.version = wire::Version::two;
		for (std::uint32_t more = 0; more < 4; ++more) {
			two.thresholds.reply = fitting.thresholds.reply + more;
			EXPECT_EQ(two.plan()->reply, ReplyRoom::reply_chunk) << more;
		}
		two.thresholds.reply = fitting.thresholds.reply + 4;
		EXPECT_EQ(two.plan()->reply, in_one->reply);
	}
}

TEST(Plan_OfVersionTwo, WhoseHeaderIsTooLarge_IsRefused)
{
	Transaction transaction{.call = {.head = 2000},
				.call_segments = {0, 41},
				.thresholds = {1016, 1024},
				.version = wire::Version::two};
	expect_plan(transaction, {CallTransfer::position_zero, ReplyRoom::inline_message, 1016, 0, 0});
	--transaction.thresholds.call;
	EXPECT_EQ(error_of(transaction.plan()), PlanError::header_too_large);
}

TEST(Plan_OfAnything, IsTotalAndKeepsItsPromises)
{
	constexpr std::uint32_t sizes[] = {0, 1, 4, 200, 996, 1020, 1024, 4096, 65535, largest - 3, largest};
	constexpr std::uint32_t counts[] = {1, 40, 63, largest};
	std::uint32_t plans = 0;
	for (const std::uint32_t head : sizes) {
		for (const std::uint32_t pages : sizes) {
			for (const std::uint32_t tail : sizes) {
				for (const std::uint32_t count : counts) {
					for (const std::uint32_t threshold : sizes) {
						const Stream stream = item(head, pages, tail);
						const auto plan =
							plan_transfer(stream, SegmentCounts{count, count}, stream,
								      SegmentCounts{count, count},
								      {wire::Version::one, {threshold, threshold}},
								      Reduction::allowed);
						if (!plan)
							continue;
						++plans;
						EXPECT_LE(std::uint64_t{plan->header_size} + plan->inline_size,
							  threshold);
						EXPECT_LE(plan->tail_skip, tail);
						EXPECT_LE(plan->tail_skip, 3u);
						if (plan->call == CallTransfer::inline_message) {
							EXPECT_EQ(plan->inline_size, stream.size());
						}
					}
				}
			}
		}
	}
	EXPECT_GT(plans, 1000u);
}

constexpr Stream room{.head = 100, .pages = 8192, .tail = 40, .pages_are_ddp_eligible = true};

void expect_placement(const std::expected<Placement, PlacementError> &placement, const Placement &expected)
{
	ASSERT_TRUE(placement);
	EXPECT_EQ(placement->head, expected.head);
	EXPECT_EQ(placement->pages, expected.pages);
	EXPECT_EQ(placement->pages_filled, expected.pages_filled);
	EXPECT_EQ(placement->tail_padding, expected.tail_padding);
	EXPECT_EQ(placement->tail, expected.tail);
	EXPECT_EQ(placement->size(), expected.head + expected.pages_filled + expected.tail_padding + expected.tail);
}

TEST(Placement, Size_IsWhatTheUpperLayerSees)
{
	EXPECT_EQ((Placement{1000, 7, 200, 30, 4}.size()), 1234u);
}

TEST(InlineReply_Placed, FillsHeadPagesAndTailInOrder)
{
	expect_placement(place_reply(room, 0, 0), {0, 0, 0, 0, 0});
	expect_placement(place_reply(room, 60, 0), {60, 0, 0, 0, 0});
	expect_placement(place_reply(room, 100, 0), {100, 0, 0, 0, 0});
	expect_placement(place_reply(room, 101, 0), {100, 1, 1, 0, 0});
	expect_placement(place_reply(room, 8292, 0), {100, 8192, 8192, 0, 0});
	expect_placement(place_reply(room, 8293, 0), {100, 8192, 8192, 0, 1});
	expect_placement(place_reply(room, 8332, 0), {100, 8192, 8192, 0, 40});
}

TEST(InlineReply_Placed, LargerThanTheRoom_IsRefused)
{
	EXPECT_EQ(error_of(place_reply(room, 8333, 0)), PlacementError::too_large);
	EXPECT_EQ(error_of(place_reply(room, largest, 0)), PlacementError::too_large);
	EXPECT_EQ(error_of(place_reply({}, 1, 0)), PlacementError::too_large);
	expect_placement(place_reply({}, 0, 0), {0, 0, 0, 0, 0});
}

TEST(WrittenReply_Placed, LeavesThePagesToTheWriteChunk)
{
	expect_placement(place_reply(room, 100, 8192), {100, 0, 8192, 0, 0});
	expect_placement(place_reply(room, 120, 4096), {100, 0, 4096, 0, 20});
	expect_placement(place_reply(room, 140, 8192), {100, 0, 8192, 0, 40});
}

TEST(WrittenReply_Placed, HasItsPaddingInFrontOfTheTail)
{
	expect_placement(place_reply(room, 120, 4097), {100, 0, 4097, 3, 20});
	expect_placement(place_reply(room, 120, 4098), {100, 0, 4098, 2, 20});
	expect_placement(place_reply(room, 120, 4099), {100, 0, 4099, 1, 20});
	expect_placement(place_reply(room, 100, 4097), {100, 0, 4097, 3, 0});
}

TEST(WrittenReply_Placed, PaddingCountsInTheTailsRoom)
{
	expect_placement(place_reply(room, 137, 4097), {100, 0, 4097, 3, 37});
	EXPECT_EQ(error_of(place_reply(room, 138, 4097)), PlacementError::too_large);
	EXPECT_EQ(error_of(place_reply(room, 141, 4096)), PlacementError::too_large);
	EXPECT_EQ(error_of(place_reply(room, largest, 4097)), PlacementError::too_large);
	EXPECT_EQ(error_of(place_reply({.head = 0, .pages = 4096, .tail = largest}, largest, 4093)),
		  PlacementError::too_large);
}

TEST(WrittenReply_Placed, PaddingWithoutATail_IsLeftOut)
{
	const Stream no_tail{.head = 100, .pages = 8192};
	expect_placement(place_reply(no_tail, 100, 4097), {100, 0, 4097, 0, 0});
	const Stream short_tail{.head = 100, .pages = 8192, .tail = 2};
	expect_placement(place_reply(short_tail, 100, 4097), {100, 0, 4097, 2, 0});
	EXPECT_EQ(error_of(place_reply(short_tail, 101, 4097)), PlacementError::too_large);
	EXPECT_EQ(error_of(place_reply(no_tail, 101, 4096)), PlacementError::too_large);
}

TEST(WrittenReply_Placed, LargerThanThePages_IsRefused)
{
	EXPECT_EQ(error_of(place_reply(room, 100, 8193)), PlacementError::too_large);
	EXPECT_EQ(error_of(place_reply(room, 100, largest)), PlacementError::too_large);
	EXPECT_EQ(error_of(place_reply({.head = 100, .tail = 40}, 100, 1)), PlacementError::too_large);
}

TEST(WrittenReply_Placed, ShorterThanTheHead_IsFollowedByTheItem)
{
	expect_placement(place_reply(room, 60, 4097), {60, 0, 4097, 3, 0});
	expect_placement(place_reply(room, 0, 1), {0, 0, 1, 3, 0});
}

} // namespace
} // namespace rpcordma::unit
