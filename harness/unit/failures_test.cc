// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include <algorithm>
#include <vector>

#include "proto/failures.hh"

namespace rpcordma::unit {
namespace {

using proto::Requester;
using proto::Transaction;

using Failures = proto::Failures<4>;

constexpr Transaction seven{7};
/// In the same place as seven.
constexpr Transaction eleven{11};
constexpr Transaction eight{8};

TEST(Failures, AtFirst_AreNone)
{
	Failures failures;
	EXPECT_FALSE(failures.recognise(Transaction{0}, 0));
	EXPECT_FALSE(failures.recognise(seven, 100));
}

TEST(Failures, Remembered_AreRecognisedOnce)
{
	Failures failures;
	failures.remember(seven, 100);
	EXPECT_TRUE(failures.recognise(seven, 101));
	EXPECT_FALSE(failures.recognise(seven, 101));
}

TEST(Failures, OfAnotherTransaction_AreNotMeant)
{
	Failures failures;
	failures.remember(seven, 100);
	EXPECT_FALSE(failures.recognise(eleven, 101));
	EXPECT_FALSE(failures.recognise(eight, 101));
	EXPECT_TRUE(failures.recognise(seven, 101));
}

TEST(Failures, OfLongAgo_AreForgotten)
{
	Failures failures;
	failures.remember(seven, 100);
	EXPECT_TRUE(failures.recognise(seven, 100 + Failures::memory_seconds));
	failures.remember(seven, 100);
	EXPECT_FALSE(failures.recognise(seven, 101 + Failures::memory_seconds));
	EXPECT_FALSE(failures.recognise(seven, 100));
	EXPECT_EQ(Failures::memory_seconds, 120u);
}

TEST(Failures, OfLongAgo_DoNotHideLaterOnes)
{
	Failures failures;
	failures.remember(seven, 100);
	failures.remember(seven, 300);
	EXPECT_TRUE(failures.recognise(seven, 301));
	EXPECT_FALSE(failures.recognise(seven, 301));
}

TEST(Failures, InThePlaceOfAnother_AreRememberedInItsStead)
{
	Failures failures;
	for (const std::uint64_t n : {1u, 2u, 3u, 4u, 5u})
		failures.remember(Transaction{n}, 100);
	EXPECT_FALSE(failures.recognise(Transaction{1}, 100));
	for (const std::uint64_t n : {2u, 3u, 4u, 5u})
		EXPECT_TRUE(failures.recognise(Transaction{n}, 100));
}

constexpr Requester alice{1};

/// One Read segment, one Write chunk of one segment, and a Reply chunk of one; each word can be another.
struct Offer {
	std::uint32_t xid = 7;
	std::uint32_t position = 148;
	std::uint32_t read_handle = 0x101;
	std::uint32_t read_length = 4096;
	std::uint32_t read_offset_high = 0x10;
	std::uint32_t read_offset = 0x1000;
	std::uint32_t write_handle = 0x201;
	std::uint32_t write_length = 8192;
	std::uint32_t write_offset = 0x2000;
	std::uint32_t reply_handle = 0x301;
	std::uint32_t reply_length = 16384;
	std::uint32_t reply_offset = 0x3000;
};

Transaction transaction_of(Requester requester, std::initializer_list<std::uint32_t> words)
{
	const Exact bytes = message(words);
	const proto::Arrival arrival = proto::classify_arrival(bytes, wire::Version::two);
	return proto::transaction_of(requester, std::get<proto::Call>(arrival), bytes);
}

Transaction transaction_of(const Offer &offer, Requester requester = alice, std::uint32_t credits = 1)
{
	return transaction_of(requester, {offer.xid, 1, credits, 0,
					  // The Read list.
					  1, offer.position, offer.read_handle, offer.read_length,
					  offer.read_offset_high, offer.read_offset, 0,
					  // The Write list.
					  1, 1, offer.write_handle, offer.write_length, 0, offer.write_offset, 0,
					  // The Reply chunk.
					  1, 1, offer.reply_handle, offer.reply_length, 0, offer.reply_offset,
					  // A Call.
					  offer.xid, 0, 2, 100003, 3, 7, 0, 0, 0, 0});
}

/// Those that have been seen.
class Seen {
    public:
	[[nodiscard]] bool is_new(Transaction transaction)
	{
		if (std::find(all_.begin(), all_.end(), transaction) != all_.end())
			return false;
		all_.push_back(transaction);
		return true;
	}

    private:
	std::vector<Transaction> all_;
};

TEST(Transactions, SentAgain_AreTheSame)
{
	EXPECT_EQ(transaction_of(Offer{}), transaction_of(Offer{}));
	// What a requester asks for may differ.
	EXPECT_EQ(transaction_of(Offer{}, alice, 1), transaction_of(Offer{}, alice, 32));
}

TEST(Transactions, ThatDifferInAnythingOffered_AreOthers)
{
	Seen seen;
	EXPECT_TRUE(seen.is_new(transaction_of(Offer{})));
	for (std::uint32_t Offer::*const word :
	     {&Offer::xid, &Offer::position, &Offer::read_handle, &Offer::read_length, &Offer::read_offset_high,
	      &Offer::read_offset, &Offer::write_handle, &Offer::write_length, &Offer::write_offset,
	      &Offer::reply_handle, &Offer::reply_length, &Offer::reply_offset}) {
		Offer other;
		other.*word += 4;
		EXPECT_TRUE(seen.is_new(transaction_of(other)));
	}
	EXPECT_TRUE(seen.is_new(transaction_of(Offer{}, Requester{2})));
}

TEST(Transactions, ThatDifferInWhereASegmentStands_AreOthers)
{
	const auto of = [](std::initializer_list<std::uint32_t> words) { return transaction_of(alice, words); };
	Seen seen;
	// No chunk; a Reply chunk; a Write chunk; two Write chunks; two segments.
	EXPECT_TRUE(seen.is_new(of({7, 1, 1, 0, 0, 0, 0, 7, 0, 2})));
	EXPECT_TRUE(seen.is_new(of({7, 1, 1, 0, 0, 0, 1, 1, 5, 6, 0, 8, 7, 0, 2})));
	EXPECT_TRUE(seen.is_new(of({7, 1, 1, 0, 0, 1, 1, 5, 6, 0, 8, 0, 0, 7, 0, 2})));
	EXPECT_TRUE(seen.is_new(of({7, 1, 1, 0, 0, 1, 1, 5, 6, 0, 8, 1, 1, 5, 6, 0, 8, 0, 0, 7, 0, 2})));
	EXPECT_TRUE(seen.is_new(of({7, 1, 1, 0, 0, 1, 2, 5, 6, 0, 8, 5, 6, 0, 8, 0, 0, 7, 0, 2})));
}

TEST(Requesters, AreKnownByAllOfTheirAddress)
{
	const auto at = [](std::initializer_list<std::uint32_t> words) { return proto::requester_at(message(words)); };
	EXPECT_EQ(at({1, 2, 3}), at({1, 2, 3}));
	EXPECT_NE(at({1, 2, 3}), at({1, 2, 4}));
	EXPECT_NE(at({1, 2, 3}), at({2, 1, 3}));
	EXPECT_NE(at({1, 2, 0}), at({1, 2}));
	EXPECT_NE(at({0, 0}), at({0, 0, 0}));
}

} // namespace
} // namespace rpcordma::unit
