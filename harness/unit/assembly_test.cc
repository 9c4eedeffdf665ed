// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include <algorithm>
#include <map>
#include <random>

#include "harness/unit/stream_model.hh"
#include "proto/assembly.hh"

namespace rpcordma::unit {
namespace {

using namespace proto;
using wire::Handle;
using wire::Position;
using wire::ReadSegment;
using wire::Segment;

using Reads = std::vector<ReadSegment>;
using Segments = std::vector<Segment>;
using Writes = std::vector<Segments>;

constexpr wire::Xid xid{0xfeedbeef};
constexpr CallLimits generous{.stream = 1 << 20, .segments = 260, .room_segments = 260, .reply_threshold = 1 << 16};

/// A segment with memory of its own.
ReadSegment segment(std::uint32_t position, std::uint32_t handle, std::uint32_t length)
{
	return {Position{position}, {Handle{handle}, length, std::uint64_t{handle} << 32 | 8}};
}

/// A Payload stream, or a part of one, with bytes that differ from their neighbours.
std::vector<std::byte> payload_of(std::size_t size)
{
	std::vector<std::byte> payload = on_wire({std::to_underlying(xid), 0});
	for (std::size_t i = payload.size(); i < size; ++i)
		payload.push_back(static_cast<std::byte>(i * 7));
	return payload;
}

/// A Call as a requester sends it.
struct Sent {
	Reads reads = {};
	Writes writes = {};
	std::optional<Segments> reply = {};
	/// None in RDMA_NOMSG.
	std::optional<std::size_t> payload = {};
	/// What stands in front of each item: how long it is said to be.
	std::uint32_t count = 1;
};

/// The same where it was received. Stays where it is, because an Assembly refers to it.
class Arrived {
    public:
	explicit Arrived(const Sent &sent)
		: message_(encoded(sent))
	{
		const Arrival arrival = classify_arrival(message_, wire::Version::two);
		EXPECT_TRUE(std::holds_alternative<Call>(arrival));
		call = std::get<Call>(arrival);
	}
	Arrived(const Arrived &) = delete;
	Arrived &operator=(const Arrived &) = delete;

	Call call;

    private:
	static std::vector<std::byte> encoded(const Sent &sent)
	{
		const std::vector<wire::SegmentArray> writes(sent.writes.begin(), sent.writes.end());
		wire::ChunksToSend chunks{sent.reads, writes, {}};
		if (sent.reply)
			chunks.reply = *sent.reply;
		std::vector<std::byte> bytes(16 + chunks.size());
		EXPECT_EQ(wire::encode(bytes, {xid, wire::Version::one, 1, wire::Direction::call, !sent.payload},
				       chunks),
			  bytes.size());
		if (sent.payload) {
			std::vector<std::byte> payload = payload_of(*sent.payload);
			for (const ReadSegment &read : sent.reads) {
				const std::size_t position = in_payload(sent.reads, std::to_underlying(read.position));
				if (position >= 12 && position <= payload.size())
					wire::store_u32(std::span(payload).subspan(position - 4).first<4>(),
							sent.count);
			}
			bytes.insert(bytes.end(), payload.begin(), payload.end());
		}
		return bytes;
	}

	/// Where a Position is in a payload without the chunks in front of it.
	static std::size_t in_payload(const Reads &reads, std::uint32_t position)
	{
		std::map<std::uint32_t, std::uint64_t> lengths;
		for (const ReadSegment &read : reads)
			if (std::to_underlying(read.position) < position)
				lengths[std::to_underlying(read.position)] += read.target.length;
		std::uint64_t inserted = 0;
		for (const auto &[at, length] : lengths)
			inserted += (length + 3) / 4 * 4;
		return position - inserted;
	}

	Exact message_;
};

std::optional<CallError> refusal(const Sent &sent, const CallLimits &limits = generous)
{
	const Arrived arrived(sent);
	return error_of(Assembly::of(arrived.call, limits));
}

/// What has become of a Call.
struct Judgement {
	CallShape shape;
	std::uint32_t size;
	std::uint32_t position;
	std::uint32_t filled;

	friend bool operator==(const Judgement &, const Judgement &) = default;
};

void PrintTo(const Judgement &judgement, std::ostream *out)
{
	*out << "shape " << static_cast<int>(judgement.shape) << ", size " << judgement.size << ", position "
	     << judgement.position << ", filled " << judgement.filled;
}

/// Puts it together in both ways, and expects the same.
std::optional<Judgement> judge(const Sent &sent, const CallLimits &limits = generous)
{
	const Arrived arrived(sent);
	const auto assembly = Assembly::of(arrived.call, limits);
	const auto expected = model::stream_of(arrived.call, limits.stream);
	EXPECT_EQ(assembly.has_value(), expected.has_value());
	if (!assembly || !expected)
		return std::nullopt;
	const model::Assembled assembled = model::assembled(arrived.call, *assembly);
	EXPECT_STREQ(assembled.problem, nullptr);
	EXPECT_EQ(assembled.stream, *expected);
	EXPECT_EQ(assembly->size(), expected->size());
	return Judgement{assembly->shape(), assembly->size(), assembly->position(), assembly->filled()};
}

/// The pieces of a Call: offset, length, and the handle where they are read.
struct Place {
	std::uint32_t offset;
	std::uint32_t length;
	std::uint32_t handle = 0;
	std::uint64_t from = 0;

	friend bool operator==(const Place &, const Place &) = default;
};

void PrintTo(const Place &place, std::ostream *out)
{
	*out << place.offset << "+" << place.length << " of " << place.handle << " at " << place.from;
}

std::vector<Place> places(const Sent &sent, const CallLimits &limits = generous)
{
	const Arrived arrived(sent);
	const auto assembly = Assembly::of(arrived.call, limits);
	EXPECT_TRUE(assembly);
	if (!assembly)
		return {};
	std::vector<Place> found;
	Pieces pieces = assembly->pieces();
	for (auto piece = pieces.next(); piece && found.size() < 1000; piece = pieces.next()) {
		Place place{piece->offset, piece->length};
		if (const auto *remote = std::get_if<Segment>(&piece->source)) {
			EXPECT_EQ(remote->length, piece->length);
			place.handle = std::to_underlying(remote->handle);
			place.from = remote->offset - (std::uint64_t{place.handle} << 32);
		}
		found.push_back(place);
	}
	return found;
}

TEST(AssembledCall, OfNothing_IsEmpty)
{
	const Assembly assembly;
	EXPECT_EQ(assembly.shape(), CallShape::in_message);
	EXPECT_EQ(assembly.size(), 0u);
	EXPECT_EQ(assembly.position(), 0u);
	EXPECT_EQ(assembly.filled(), 0u);
	EXPECT_FALSE(assembly.pieces().next());
}

TEST(AssembledCall, WithoutReadChunks_IsInItsMessage)
{
	EXPECT_EQ(judge({.payload = 40}), (Judgement{CallShape::in_message, 40, 0, 0}));
	EXPECT_EQ(judge({.payload = 999}), (Judgement{CallShape::in_message, 999, 0, 0}));
	EXPECT_EQ(places({.payload = 999}), std::vector<Place>{});
}

TEST(AssembledCall, WithOneItem_HasItReadAndTheRestInItsMessage)
{
	const Sent sent{.reads = {segment(48, 1, 100)}, .payload = 60};
	EXPECT_EQ(judge(sent), (Judgement{CallShape::one_item, 160, 48, 100}));
	EXPECT_EQ(places(sent), (std::vector<Place>{{0, 100, 1, 8}}));
}

TEST(AssembledCall, WhoseItemMayNotBeApart_IsInOnePlace)
{
	CallLimits limits = generous;
	limits.item_apart = false;
	const Sent sent{.reads = {segment(48, 1, 100)}, .payload = 60};
	EXPECT_EQ(judge(sent, limits), (Judgement{CallShape::contiguous, 160, 0, 160}));
	EXPECT_EQ(places(sent, limits), (std::vector<Place>{{0, 48}, {48, 100, 1, 8}, {148, 12}}));
}

TEST(AssembledCall, WithOneItemAtTheEnd_HasNothingBehindIt)
{
	EXPECT_EQ(judge({.reads = {segment(60, 1, 100)}, .payload = 60}),
		  (Judgement{CallShape::one_item, 160, 60, 100}));
}

TEST(AssembledCall, WithOneItemOfManySegments_HasThemInTheirOrder)
{
	const Sent sent{.reads = {segment(48, 9, 1), segment(48, 2, 4096), segment(48, 5, 7)}, .payload = 60};
	EXPECT_EQ(judge(sent), (Judgement{CallShape::one_item, 4164, 48, 4104}));
	EXPECT_EQ(places(sent), (std::vector<Place>{{0, 1, 9, 8}, {1, 4096, 2, 8}, {4097, 7, 5, 8}}));
}

TEST(AssembledCall, WithAsManySegmentsAsAreAllowed_IsPutTogether)
{
	Reads reads;
	for (std::uint32_t i = 0; i < generous.segments; ++i)
		reads.push_back(segment(48, i, i));
	EXPECT_EQ(judge({.reads = reads, .payload = 60}), (Judgement{CallShape::one_item, 60 + 33672, 48, 33672}));
}

TEST(AssembledCall, OfAnItemWithRoundupInItsChunk_IsTheSameAsWithout)
{
	for (std::uint32_t length = 9; length <= 12; ++length) {
		EXPECT_EQ(judge({.reads = {segment(48, 1, length)}, .payload = 60}),
			  (Judgement{CallShape::one_item, 72, 48, 12}));
	}
	EXPECT_EQ(judge({.reads = {segment(48, 1, 9), segment(48, 2, 3)}, .payload = 60}),
		  (Judgement{CallShape::one_item, 72, 48, 12}));
}

TEST(AssembledCall, WhoseItemIsWithinTheRpcHeader_IsInOnePlace)
{
	EXPECT_EQ(judge({.reads = {segment(36, 1, 10)}, .payload = 60}), (Judgement{CallShape::contiguous, 72, 0, 72}));
	EXPECT_EQ(places({.reads = {segment(36, 1, 10)}, .payload = 60}),
		  (std::vector<Place>{{0, 36}, {36, 10, 1, 8}, {48, 24}}));
	EXPECT_EQ(judge({.reads = {segment(4, 1, 10)}, .payload = 60}), (Judgement{CallShape::contiguous, 72, 0, 72}));
	EXPECT_EQ(judge({.reads = {segment(40, 1, 10)}, .payload = 60}), (Judgement{CallShape::one_item, 72, 40, 12}));
}

TEST(AssembledCall, WhoseItemGoesOnBehindItsChunk_IsInOnePlace)
{
	const Reads reads{segment(48, 1, 8), segment(48, 2, 2)};
	EXPECT_EQ(judge({.reads = reads, .payload = 60, .count = 10}), (Judgement{CallShape::one_item, 72, 48, 12}));
	EXPECT_EQ(judge({.reads = reads, .payload = 60, .count = 13}), (Judgement{CallShape::contiguous, 72, 0, 72}));
	EXPECT_EQ(judge({.reads = reads, .payload = 60, .count = 0xffffffff}),
		  (Judgement{CallShape::contiguous, 72, 0, 72}));
	EXPECT_EQ(judge({.reads = reads, .payload = 60, .count = 0}), (Judgement{CallShape::one_item, 72, 48, 12}));
}

TEST(AssembledCall, WithRoomForAnotherItemBehindItsOwn_IsInOnePlace)
{
	EXPECT_EQ(judge({.reads = {segment(48, 1, 12)}, .payload = 87}), (Judgement{CallShape::one_item, 99, 48, 12}));
	EXPECT_EQ(judge({.reads = {segment(48, 1, 12)}, .payload = 88}),
		  (Judgement{CallShape::contiguous, 100, 0, 100}));
}

TEST(AssembledCall, WithAnEmptyItem_IsInItsMessage)
{
	EXPECT_EQ(judge({.reads = {segment(48, 1, 0)}, .payload = 60}), (Judgement{CallShape::in_message, 60, 0, 0}));
	EXPECT_EQ(judge({.reads = {segment(4, 1, 0), segment(4, 2, 0)}, .payload = 60}),
		  (Judgement{CallShape::in_message, 60, 0, 0}));
	EXPECT_EQ(judge({.reads = {segment(60, 1, 0)}, .payload = 60}), (Judgement{CallShape::in_message, 60, 0, 0}));
	EXPECT_EQ(judge({.reads = {segment(48, 1, 0)}, .payload = 60, .count = 0}),
		  (Judgement{CallShape::in_message, 60, 0, 0}));
	EXPECT_EQ(judge({.reads = {segment(48, 1, 1)}, .payload = 60}), (Judgement{CallShape::one_item, 64, 48, 4}));
}

TEST(AssembledCall, WithEmptySegments_DoesWithoutThem)
{
	const Sent sent{.reads = {segment(48, 1, 0), segment(48, 2, 8), segment(48, 3, 0), segment(48, 4, 4),
				  segment(48, 5, 0)},
			.payload = 60};
	EXPECT_EQ(judge(sent), (Judgement{CallShape::one_item, 72, 48, 12}));
	EXPECT_EQ(places(sent), (std::vector<Place>{{0, 8, 2, 8}, {8, 4, 4, 8}}));
}

TEST(AssembledCall, OfSeveralItems_IsInOnePlace)
{
	const Sent sent{.reads = {segment(40, 1, 5), segment(52, 2, 8)}, .payload = 60};
	EXPECT_EQ(judge(sent), (Judgement{CallShape::contiguous, 76, 0, 76}));
	EXPECT_EQ(places(sent), (std::vector<Place>{{0, 40}, {40, 5, 1, 8}, {48, 4}, {52, 8, 2, 8}, {60, 16}}));
}

TEST(AssembledCall, OfSeveralItems_HasThemByPositionWhateverTheListsOrder)
{
	const Reads in_order = {segment(40, 1, 5), segment(52, 2, 8), segment(72, 3, 1)};
	Reads reads = in_order;
	do {
		EXPECT_EQ(places({.reads = reads, .payload = 60}), places({.reads = in_order, .payload = 60}));
		EXPECT_EQ(judge({.reads = reads, .payload = 60}), (Judgement{CallShape::contiguous, 80, 0, 80}));
	} while (std::next_permutation(reads.begin(), reads.end(), [](const ReadSegment &a, const ReadSegment &b) {
		return a.position < b.position;
	}));
}

TEST(AssembledCall, OfItemsWhoseSegmentsAreInterleaved_HasEachInItsOrder)
{
	const Sent sent{.reads = {segment(52, 3, 4), segment(40, 1, 5), segment(52, 4, 6), segment(40, 2, 2)},
			.payload = 60};
	EXPECT_EQ(places(sent),
		  (std::vector<Place>{
			  {0, 40}, {40, 5, 1, 8}, {45, 2, 2, 8}, {48, 4}, {52, 4, 3, 8}, {56, 6, 4, 8}, {64, 16}}));
	EXPECT_EQ(judge(sent), (Judgement{CallShape::contiguous, 80, 0, 80}));
}

TEST(AssembledCall, OfItemsThatFollowEachOther_HasNothingBetweenThem)
{
	const Sent sent{.reads = {segment(60, 1, 8), segment(68, 2, 8)}, .payload = 60};
	EXPECT_EQ(places(sent), (std::vector<Place>{{0, 60}, {60, 8, 1, 8}, {68, 8, 2, 8}}));
	EXPECT_EQ(judge(sent), (Judgement{CallShape::contiguous, 76, 0, 76}));
}

TEST(AssembledCall, OfSeveralItemsOfWhichSomeAreEmpty_IsPutTogether)
{
	EXPECT_EQ(judge({.reads = {segment(40, 1, 0), segment(52, 2, 0)}, .payload = 60}),
		  (Judgement{CallShape::in_message, 60, 0, 0}));
	EXPECT_EQ(places({.reads = {segment(40, 1, 0), segment(52, 2, 8)}, .payload = 60}),
		  (std::vector<Place>{{0, 40}, {40, 12}, {52, 8, 2, 8}, {60, 8}}));
	EXPECT_EQ(judge({.reads = {segment(40, 1, 8), segment(48, 2, 0)}, .payload = 60}),
		  (Judgement{CallShape::contiguous, 68, 0, 68}));
}

TEST(AssembledLongCall, IsWhatItsPositionZeroReadChunkHolds)
{
	EXPECT_EQ(judge({.reads = {segment(0, 1, 40)}}), (Judgement{CallShape::contiguous, 40, 0, 40}));
	EXPECT_EQ(places({.reads = {segment(0, 1, 5000), segment(0, 2, 0), segment(0, 3, 33)}}),
		  (std::vector<Place>{{0, 5000, 1, 8}, {5000, 33, 3, 8}}));
	EXPECT_EQ(judge({.reads = {segment(0, 1, 5000), segment(0, 2, 0), segment(0, 3, 33)}}),
		  (Judgement{CallShape::contiguous, 5033, 0, 5033}));
}

TEST(AssembledLongCall, BeginsWithEmptySegments_DoesWithoutThem)
{
	EXPECT_EQ(places({.reads = {segment(0, 1, 0), segment(0, 2, 0), segment(0, 3, 43)}}),
		  (std::vector<Place>{{0, 43, 3, 8}}));
}

TEST(AssembledLongCall, BesideOtherChunks_HasThemInserted)
{
	const Sent sent{.reads = {segment(0, 1, 100), segment(48, 2, 10), segment(0, 3, 50)}};
	EXPECT_EQ(places(sent), (std::vector<Place>{{0, 48, 1, 8}, {48, 10, 2, 8}, {60, 52, 1, 56}, {112, 50, 3, 8}}));
	EXPECT_EQ(judge(sent), (Judgement{CallShape::contiguous, 162, 0, 162}));
}

TEST(AssembledLongCall, BesideAChunkBetweenItsSegments_IsDividedNowhereElse)
{
	EXPECT_EQ(places({.reads = {segment(48, 2, 12), segment(0, 1, 48), segment(0, 3, 50)}}),
		  (std::vector<Place>{{0, 48, 1, 8}, {48, 12, 2, 8}, {60, 50, 3, 8}}));
}

TEST(AssembledLongCall, BesideChunksInOneSegment_GoesOnWhereItWas)
{
	EXPECT_EQ(places({.reads = {segment(60, 3, 4), segment(0, 1, 100), segment(8, 2, 4)}}),
		  (std::vector<Place>{{0, 8, 1, 8}, {8, 4, 2, 8}, {12, 48, 1, 16}, {60, 4, 3, 8}, {64, 44, 1, 64}}));
}

TEST(AssembledLongCall, BesideAChunkAtItsEnd_EndsWithThat)
{
	EXPECT_EQ(places({.reads = {segment(0, 1, 100), segment(100, 2, 5)}}),
		  (std::vector<Place>{{0, 100, 1, 8}, {100, 5, 2, 8}}));
	EXPECT_EQ(judge({.reads = {segment(0, 1, 100), segment(100, 2, 5)}}),
		  (Judgement{CallShape::contiguous, 108, 0, 108}));
}

TEST(ReadChunk_OfACall, WithUnalignedPosition_IsRefused)
{
	for (const std::uint32_t position : {1u, 2u, 3u, 41u, 42u, 43u, 0xfffffffdu, 0xffffffffu}) {
		EXPECT_EQ(refusal({.reads = {segment(position, 1, 4)}, .payload = 60}), CallError::position_unaligned);
		EXPECT_EQ(refusal({.reads = {segment(0, 1, 60), segment(position, 2, 4)}}),
			  CallError::position_unaligned);
	}
}

TEST(ReadChunk_OfACall, BehindTheEndOfTheStream_IsRefused)
{
	for (const std::uint32_t position : {64u, 68u, 0x7ffffffcu, 0x80000000u, 0xfffffffcu}) {
		EXPECT_EQ(refusal({.reads = {segment(position, 1, 4)}, .payload = 60}), CallError::position_outside);
		EXPECT_EQ(refusal({.reads = {segment(position, 1, 0)}, .payload = 60}), CallError::position_outside);
		EXPECT_EQ(refusal({.reads = {segment(0, 1, 60), segment(position, 2, 4)}}),
			  CallError::position_outside);
	}
	EXPECT_EQ(refusal({.reads = {segment(60, 1, 4)}, .payload = 59}), CallError::position_outside);
}

TEST(ReadChunk_OfACall, BehindAnother_MayStandAsMuchLater)
{
	EXPECT_EQ(refusal({.reads = {segment(40, 1, 5), segment(68, 2, 4)}, .payload = 60}), std::nullopt);
	EXPECT_EQ(refusal({.reads = {segment(40, 1, 5), segment(72, 2, 4)}, .payload = 60}),
		  CallError::position_outside);
	EXPECT_EQ(refusal({.reads = {segment(72, 1, 4), segment(40, 2, 9)}, .payload = 60}), std::nullopt);
}

TEST(ReadChunk_OfACall, WithinAnother_IsRefused)
{
	EXPECT_EQ(refusal({.reads = {segment(40, 1, 12), segment(44, 2, 4)}, .payload = 60}),
		  CallError::position_outside);
	EXPECT_EQ(refusal({.reads = {segment(48, 2, 4), segment(40, 1, 12)}, .payload = 60}),
		  CallError::position_outside);
	EXPECT_EQ(refusal({.reads = {segment(40, 1, 12), segment(52, 2, 4)}, .payload = 60}), std::nullopt);
}

TEST(ReadChunk_OfACall, WithinThePaddingOfAnother_IsRefused)
{
	EXPECT_EQ(refusal({.reads = {segment(40, 1, 1), segment(40, 2, 4), segment(44, 3, 4)}, .payload = 60}),
		  CallError::position_outside);
	EXPECT_EQ(refusal({.reads = {segment(40, 1, 1), segment(40, 2, 4), segment(48, 3, 4)}, .payload = 60}),
		  std::nullopt);
}

TEST(ReadChunk_OfACall, AtPositionZeroBesideAPayload_IsRefused)
{
	EXPECT_EQ(refusal({.reads = {segment(0, 1, 60)}, .payload = 60}), CallError::position_zero_beside_payload);
	EXPECT_EQ(refusal({.reads = {segment(0, 1, 0)}, .payload = 60}), CallError::position_zero_beside_payload);
	EXPECT_EQ(refusal({.reads = {segment(40, 1, 4), segment(0, 2, 60)}, .payload = 60}),
		  CallError::position_zero_beside_payload);
}

TEST(ReadChunk_OfACall, WhosePaddingIsCountedAsData_IsRefused)
{
	const auto counted = [](Reads reads, std::uint32_t count) {
		return refusal({.reads = std::move(reads), .payload = 60, .count = count});
	};
	for (std::uint32_t length = 9; length < 12; ++length) {
		EXPECT_EQ(counted({segment(48, 1, length)}, length), std::nullopt);
		EXPECT_EQ(counted({segment(48, 1, length)}, length + 1), CallError::count_beyond_chunk);
		EXPECT_EQ(counted({segment(48, 1, length)}, 12), CallError::count_beyond_chunk);
		EXPECT_EQ(counted({segment(48, 1, length)}, 13), std::nullopt);
		EXPECT_EQ(counted({segment(48, 1, length), segment(48, 2, 12 - length)}, 12), std::nullopt);
	}
	// Behind another: in the stream that is not yet put together, its count stands as much earlier.
	EXPECT_EQ(counted({segment(48, 1, 12), segment(64, 2, 11)}, 12), CallError::count_beyond_chunk);
	EXPECT_EQ(counted({segment(48, 1, 12), segment(64, 2, 12)}, 12), std::nullopt);
	// What stands in front of this one is not in the message.
	EXPECT_EQ(counted({segment(48, 1, 12), segment(60, 2, 11)}, 12), std::nullopt);
	// In the first word, the XID is no count.
	EXPECT_EQ(counted({segment(4, 1, 11)}, 1), std::nullopt);
}

TEST(CallSize, BelowTheSmallestCall_IsRefused)
{
	for (std::uint32_t size = 8; size < 40; ++size) {
		EXPECT_EQ(refusal({.payload = size}), CallError::too_small);
		EXPECT_EQ(refusal({.reads = {segment(0, 1, size)}}), CallError::too_small);
	}
	EXPECT_EQ(refusal({.reads = {segment(8, 1, 28)}, .payload = 8}), CallError::too_small);
	EXPECT_EQ(refusal({.reads = {segment(8, 1, 32)}, .payload = 8}), std::nullopt);
}

TEST(LongCall_OfNothing, IsRefused)
{
	EXPECT_EQ(refusal({}), CallError::no_payload);
	EXPECT_EQ(refusal({.reads = {segment(0, 1, 0)}}), CallError::no_payload);
	EXPECT_EQ(refusal({.reads = {segment(4, 1, 100)}}), CallError::no_payload);
	EXPECT_EQ(refusal({.reads = {segment(0, 1, 0), segment(4, 1, 100)}}), CallError::no_payload);
	EXPECT_EQ(refusal({.reply = Segments{{Handle{1}, 100, 0}}}), CallError::no_payload);
}

TEST(CallSize, OfExactlyTheLimit_IsTaken)
{
	const auto with_limit = [](const Sent &sent, std::uint32_t most) {
		CallLimits limits = generous;
		limits.stream = most;
		return refusal(sent, limits);
	};
	const Sent in_message{.payload = 60};
	EXPECT_EQ(with_limit(in_message, 60), std::nullopt);
	EXPECT_EQ(with_limit(in_message, 59), CallError::too_large);
	// Its padding counts.
	const Sent one_item{.reads = {segment(48, 1, 97)}, .payload = 60};
	EXPECT_EQ(with_limit(one_item, 160), std::nullopt);
	EXPECT_EQ(with_limit(one_item, 159), CallError::too_large);
	EXPECT_EQ(with_limit(one_item, 100), CallError::too_large);
	EXPECT_EQ(with_limit(one_item, 99), CallError::too_large);
	const Sent several{.reads = {segment(48, 1, 97), segment(148, 2, 1)}, .payload = 60};
	EXPECT_EQ(with_limit(several, 164), std::nullopt);
	EXPECT_EQ(with_limit(several, 163), CallError::too_large);
	const Sent is_long{.reads = {segment(0, 1, 100)}};
	EXPECT_EQ(with_limit(is_long, 100), std::nullopt);
	EXPECT_EQ(with_limit(is_long, 99), CallError::too_large);
	const Sent long_with_item{.reads = {segment(0, 1, 100), segment(100, 1, 5)}};
	EXPECT_EQ(with_limit(long_with_item, 108), std::nullopt);
	EXPECT_EQ(with_limit(long_with_item, 107), CallError::too_large);
}

TEST(CallSize, IsLookedAtChunkByChunk)
{
	CallLimits limits = generous;
	limits.stream = 100;
	EXPECT_EQ(refusal({.reads = {segment(40, 1, 101), segment(41, 2, 4)}, .payload = 60}, limits),
		  CallError::too_large);
	EXPECT_EQ(refusal({.reads = {segment(40, 1, 100), segment(41, 2, 4)}, .payload = 60}, limits),
		  CallError::position_unaligned);
}

TEST(CallSize, BeyondThirtyTwoBits_IsTooLarge)
{
	for (const CallLimits &limits : {generous, CallLimits{0xffffffff, 260, 260, 4096}}) {
		EXPECT_EQ(refusal({.reads = {segment(40, 1, 0xffffffff)}, .payload = 60}, limits),
			  CallError::too_large);
		// These add up to nothing in 32 bits.
		EXPECT_EQ(refusal({.reads = {segment(40, 1, 0x80000000), segment(40, 2, 0x80000000)}, .payload = 60},
				  limits),
			  CallError::too_large);
		EXPECT_EQ(refusal({.reads = {segment(0, 1, 0xffffffff), segment(0, 2, 1)}}, limits),
			  CallError::too_large);
		EXPECT_EQ(refusal({.reads = {segment(0, 1, 100), segment(40, 1, 0xffffffff), segment(40, 2, 1)}},
				  limits),
			  CallError::too_large);
		EXPECT_EQ(refusal({.reads = {segment(40, 1, 0x80000000), segment(0x80000028, 2, 0x80000000)},
				   .payload = 60},
				  limits),
			  CallError::too_large);
		EXPECT_EQ(refusal({.reads = Reads(260, segment(40, 1, 0xffffffff)), .payload = 60}, limits),
			  CallError::too_large);
		EXPECT_EQ(refusal({.reads = Reads(260, segment(0, 1, 0xffffffff))}, limits), CallError::too_large);
	}
}

TEST(CallSize, OfAllThereIsIn32Bits_IsTakenWhereItIsAllowed)
{
	const CallLimits limits{0xffffffff, 260, 260, 4096};
	const Arrived arrived({.reads = {segment(0, 1, 0xffffffff)}});
	const auto assembly = Assembly::of(arrived.call, limits);
	ASSERT_TRUE(assembly);
	EXPECT_EQ(assembly->size(), 0xffffffffu);
	Pieces pieces = assembly->pieces();
	const auto piece = pieces.next();
	ASSERT_TRUE(piece);
	EXPECT_EQ(piece->length, 0xffffffffu);
	EXPECT_FALSE(pieces.next());
}

TEST(CallSegments, BeyondTheLimit_AreRefused)
{
	const CallLimits limits{.stream = 4096, .segments = 3, .room_segments = 4, .reply_threshold = 4096};
	const Segments two(2, Segment{Handle{1}, 4, 0});
	const Segments three(3, Segment{Handle{1}, 4, 0});
	EXPECT_EQ(refusal({.reads = Reads(3, segment(40, 1, 4)), .payload = 60}, limits), std::nullopt);
	EXPECT_EQ(refusal({.reads = Reads(4, segment(40, 1, 4)), .payload = 60}, limits), CallError::too_many_segments);
	EXPECT_EQ(refusal({.writes = {two, two}, .payload = 60}, limits), std::nullopt);
	EXPECT_EQ(refusal({.writes = {two, three}, .payload = 60}, limits), CallError::too_many_segments);
	EXPECT_EQ(refusal({.writes = {two}, .reply = two, .payload = 60}, limits), std::nullopt);
	EXPECT_EQ(refusal({.writes = {three}, .reply = two, .payload = 60}, limits), CallError::too_many_segments);
	EXPECT_EQ(refusal({.writes = {two, Segments{}}, .reply = three, .payload = 60}, limits),
		  CallError::too_many_segments);
	EXPECT_EQ(refusal({.reply = Segments(5, Segment{Handle{1}, 4, 0}), .payload = 60}, limits),
		  CallError::too_many_segments);
}

TEST(CallChunks, ThatCouldNotBeGivenBack_AreRefusedBeforeAnythingIsDone)
{
	const auto with_threshold = [](const Sent &sent, std::uint32_t threshold) {
		CallLimits limits = generous;
		limits.reply_threshold = threshold;
		return refusal(sent, limits);
	};
	const Segments two(2, Segment{Handle{1}, 4, 0});
	EXPECT_EQ(with_threshold({.payload = 60}, 28), std::nullopt);
	EXPECT_EQ(with_threshold({.payload = 60}, 27), CallError::no_room_for_reply);
	// A Read list is not given back.
	EXPECT_EQ(with_threshold({.reads = {segment(40, 1, 4)}, .payload = 60}, 28), std::nullopt);
	EXPECT_EQ(with_threshold({.writes = {two}, .payload = 60}, 28 + 40), std::nullopt);
	EXPECT_EQ(with_threshold({.writes = {two}, .payload = 60}, 28 + 39), CallError::no_room_for_reply);
	EXPECT_EQ(with_threshold({.reply = two, .payload = 60}, 28 + 36), std::nullopt);
	EXPECT_EQ(with_threshold({.reply = two, .payload = 60}, 28 + 35), CallError::no_room_for_reply);
	EXPECT_EQ(with_threshold({.writes = {two, Segments{}}, .reply = two, .payload = 60}, 28 + 84), std::nullopt);
	EXPECT_EQ(with_threshold({.writes = {two, Segments{}}, .reply = two, .payload = 60}, 28 + 83),
		  CallError::no_room_for_reply);
	EXPECT_EQ(with_threshold({.reads = {segment(0, 1, 60)}, .reply = two}, 28 + 35), CallError::no_room_for_reply);
}

/// Calls whose chunks are in order, made of random numbers.
class RandomCalls {
    public:
	explicit RandomCalls(std::uint32_t seed)
		: random_(seed)
	{
	}

	Sent valid()
	{
		const std::uint32_t base = 40 + number(80);
		Sent sent;
		if (number(1) == 0)
			sent.payload = base;
		else
			add_chunk(sent.reads, 0, base);
		std::uint32_t of_base = 4;
		std::uint32_t inserted = 0;
		for (std::uint32_t chunks = number(4); chunks != 0; --chunks) {
			of_base += 4 * number((base - of_base) / 4);
			const std::uint32_t length = number(20);
			add_chunk(sent.reads, of_base + inserted, length);
			inserted += length + wire::roundup_padding(length);
		}
		mix(sent.reads);
		return sent;
	}
	/// One with something changed that may matter.
	Sent doubtful()
	{
		Sent sent = valid();
		if (sent.reads.empty())
			return sent;
		ReadSegment &changed = sent.reads[number(static_cast<std::uint32_t>(sent.reads.size() - 1))];
		switch (number(3)) {
		case 0:
			changed.position = Position{std::to_underlying(changed.position) + 4 * number(8)};
			break;
		case 1:
			changed.position = Position{number(0xffffffff)};
			break;
		case 2:
			changed.target.length = number(40);
			break;
		default:
			changed.target.length = number(0xffffffff);
			break;
		}
		return sent;
	}

    private:
	std::uint32_t number(std::uint32_t most)
	{
		return static_cast<std::uint32_t>(random_() % (std::uint64_t{most} + 1));
	}
	/// In segments of random length, empty ones among them.
	void add_chunk(Reads &reads, std::uint32_t position, std::uint32_t length)
	{
		do {
			const std::uint32_t part = number(2) == 0 ? length : number(length);
			const std::uint64_t offset = std::uint64_t{number(0xffffffff)} << 20;
			reads.push_back({Position{position}, {Handle{number(0xffffffff)}, part, offset}});
			length -= part;
		} while (length != 0);
	}
	/// Changes the order of chunks and interleaves them, but leaves the order within each alone.
	void mix(Reads &reads)
	{
		for (std::size_t swaps = 2 * reads.size(); reads.size() > 1 && swaps != 0; --swaps) {
			const std::uint32_t at = number(static_cast<std::uint32_t>(reads.size() - 2));
			if (reads[at].position != reads[at + 1].position)
				std::swap(reads[at], reads[at + 1]);
		}
	}

	std::mt19937 random_;
};

TEST(AnyCall, IsWhatTheModelMakesOfIt)
{
	RandomCalls calls(1);
	for (int i = 0; i < rounds(1000) && !testing::Test::HasFailure(); ++i)
		EXPECT_TRUE(judge(calls.valid())) << i;
}

TEST(AnyCall, IsRefusedWhereTheModelRefusesIt)
{
	RandomCalls calls(2);
	CallLimits limits = generous;
	int refused = 0;
	for (int i = 0; i < rounds(2000) && !testing::Test::HasFailure(); ++i) {
		limits.stream = i % 2 == 0 ? generous.stream : 100;
		refused += !judge(calls.doubtful(), limits);
	}
	// Some of either kind, though a kernel has a hundred of them only.
	EXPECT_GT(refused, rounds(200));
	EXPECT_LT(refused, rounds(1800));
}

std::optional<Handle> to_invalidate(const Sent &sent)
{
	const Arrived arrived(sent);
	return handle_to_invalidate(arrived.call.chunks);
}

TEST(HandleToInvalidate, IsTheOnlyOneOfItsCall)
{
	const Segments nine{{Handle{9}, 4, 0}, {Handle{9}, 4, 4096}};
	EXPECT_EQ(to_invalidate({.reads = {segment(40, 9, 4)}, .payload = 60}), Handle{9});
	EXPECT_EQ(to_invalidate({.writes = {nine}, .payload = 60}), Handle{9});
	EXPECT_EQ(to_invalidate({.reply = nine, .payload = 60}), Handle{9});
	EXPECT_EQ(to_invalidate({.reads = {segment(0, 9, 60)}, .writes = {nine, nine}, .reply = nine}), Handle{9});
	EXPECT_EQ(to_invalidate({.reads = {segment(40, 0, 4)}, .payload = 60}), Handle{0});
}

TEST(HandleToInvalidate, OfACallWithoutChunks_IsNone)
{
	EXPECT_EQ(to_invalidate({.payload = 60}), std::nullopt);
	EXPECT_EQ(to_invalidate({.writes = {Segments{}}, .reply = Segments{}, .payload = 60}), std::nullopt);
}

TEST(HandleToInvalidate, OfASegmentWithoutBytes_IsNone)
{
	const Segments nothing{{Handle{8}, 0, 0}};
	const Segments nine{{Handle{8}, 0, 0}, {Handle{9}, 4, 0}, {Handle{7}, 0, 0}};
	EXPECT_EQ(to_invalidate({.reads = {segment(40, 8, 0)}, .payload = 60}), std::nullopt);
	EXPECT_EQ(to_invalidate({.writes = {nothing}, .reply = nothing, .payload = 60}), std::nullopt);
	EXPECT_EQ(to_invalidate({.reads = {segment(40, 8, 0)}, .writes = {nine}, .reply = nothing, .payload = 60}),
		  Handle{9});
}

TEST(HandleToInvalidate, OfSeveral_IsNone)
{
	const Segments eight{{Handle{8}, 4, 0}};
	const Segments nine{{Handle{9}, 4, 0}};
	const Segments both{{Handle{8}, 4, 0}, {Handle{9}, 4, 0}, {Handle{8}, 4, 0}};
	EXPECT_EQ(to_invalidate({.reads = {segment(40, 9, 4), segment(40, 8, 4), segment(40, 9, 4)}, .payload = 60}),
		  std::nullopt);
	EXPECT_EQ(to_invalidate({.writes = {both}, .payload = 60}), std::nullopt);
	EXPECT_EQ(to_invalidate({.writes = {eight, nine, eight}, .payload = 60}), std::nullopt);
	EXPECT_EQ(to_invalidate({.reply = both, .payload = 60}), std::nullopt);
	EXPECT_EQ(to_invalidate({.reads = {segment(40, 9, 4)}, .writes = {eight}, .payload = 60}), std::nullopt);
	EXPECT_EQ(to_invalidate({.writes = {eight}, .reply = nine, .payload = 60}), std::nullopt);
}

/// A COMPOUND of two WRITEs of NFSv4, without their data.
constexpr std::uint32_t two_writes[]{7, 0, 2, 100003, 4, 1,    0,  0, 0, 0, 0, 1, 2,	38, 1,	2,
				     3, 4, 0, 0,      2, 8192, 38, 1, 2, 3, 4, 0, 8192, 2,  100};

std::optional<CallError> refusal_of_writes(const Reads &reads, bool eligible_only, bool is_long = false)
{
	CallLimits limits = generous;
	limits.eligible_only = eligible_only;
	const ReceivedChunks chunks({.reads = reads, .writes = {}, .reply = {}});
	const Exact payload(on_wire(two_writes));
	const Call call{wire::Xid{7}, 1, *chunks, is_long, is_long ? wire::Bytes() : wire::Bytes(payload)};
	return error_of(Assembly::of(call, limits));
}

TEST(ReadChunk_OfACall, ForAnItemThatIsNotEligible_IsRefusedWhereAsked)
{
	const Reads good{segment(88, 1, 8192), segment(88 + 8192 + 36, 2, 100)};
	EXPECT_EQ(refusal_of_writes(good, true), std::nullopt);
	const Reads stateid{segment(56, 1, 16)};
	EXPECT_EQ(refusal_of_writes(stateid, true), CallError::not_eligible);
	EXPECT_EQ(refusal_of_writes(stateid, false), std::nullopt);
	// Nothing of the one, and what stands behind the other in the reduced stream.
	EXPECT_EQ(refusal_of_writes({segment(56, 1, 0)}, true), std::nullopt);
	EXPECT_EQ(refusal_of_writes({segment(88, 1, 8192), segment(88 + 8192 + 32, 2, 100)}, true),
		  CallError::not_eligible);
	// One that goes on with the item of the last; a Long Call, whose arguments are not here.
	EXPECT_EQ(refusal_of_writes({segment(88, 1, 4096), segment(88 + 4096, 2, 4096)}, true), std::nullopt);
	EXPECT_EQ(refusal_of_writes({segment(0, 1, 200), segment(56, 2, 16)}, true, true), std::nullopt);
}

std::optional<CallError> error_in_front(const Reads &reads, std::size_t size, bool is_long = true)
{
	const ReceivedChunks chunks({.reads = reads, .writes = {}, .reply = {}});
	const Exact payload(on_wire(two_writes));
	const Call call{wire::Xid{7}, 1, *chunks, is_long, is_long ? wire::Bytes() : wire::Bytes(payload)};
	const auto assembly = Assembly::of(call, generous);
	EXPECT_TRUE(assembly);
	return assembly ? assembly->error_in(wire::Bytes(payload).first(size)) : std::nullopt;
}

TEST(ReadChunk_OfALongCall, WhoseItemIsNoneOrPadded_IsSeenInTheStream)
{
	EXPECT_EQ(error_in_front({segment(0, 1, 124), segment(88, 2, 8192)}, 88), std::nullopt);
	EXPECT_EQ(error_in_front({segment(0, 1, 124), segment(88, 2, 8192)}, 124), std::nullopt);
	EXPECT_EQ(error_in_front({segment(0, 1, 124), segment(56, 2, 16)}, 124), CallError::not_eligible);
	EXPECT_EQ(error_in_front({segment(0, 1, 124), segment(88, 2, 4), segment(104, 3, 4)}, 124),
		  CallError::not_eligible);
	// Nothing of it, what goes on with another's item, and what is further on.
	EXPECT_EQ(error_in_front({segment(0, 1, 124), segment(56, 2, 0)}, 124), std::nullopt);
	EXPECT_EQ(error_in_front({segment(0, 1, 124), segment(88, 2, 4), segment(92, 3, 4)}, 124), std::nullopt);
	EXPECT_EQ(error_in_front({segment(0, 1, 124), segment(56, 2, 16)}, 52), std::nullopt);
	// Its count takes in padding; where the chunk goes on with another's item, a word of that is no count.
	for (const std::uint32_t length : {8189u, 8190u, 8191u})
		EXPECT_EQ(error_in_front({segment(0, 1, 124), segment(88, 2, length)}, 88),
			  CallError::count_beyond_chunk);
	EXPECT_EQ(error_in_front({segment(0, 1, 124), segment(88, 2, 8188)}, 88), std::nullopt);
	EXPECT_EQ(error_in_front({segment(0, 1, 124), segment(88, 2, 4), segment(92, 3, 37)}, 124), std::nullopt);
	// The other Calls have been looked at.
	EXPECT_EQ(error_in_front({segment(56, 2, 16)}, 124, false), std::nullopt);
}

} // namespace
} // namespace rpcordma::unit
