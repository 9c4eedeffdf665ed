// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "proto/negotiation.hh"

namespace rpcordma::unit {
namespace {

using namespace proto;
using wire::Version;
using wire::Xid;
using Verdict = Negotiation::Verdict;
using Responder = KnownVersions::Responder;

constexpr Xid first{7};

ForCall reply(std::uint32_t version, Xid xid = first)
{
	return {xid, 32, wire::Msg{}, version};
}

ForCall version_error(std::uint32_t low, std::uint32_t high, Xid xid = first, std::uint32_t version = 2)
{
	return {xid, 32, wire::VersionError{low, high}, version};
}

ForCall chunk_error(std::uint32_t version)
{
	return {first, 32, wire::ChunkError{}, version};
}

/// Not one that the compiler has made: what it does would not be counted as executed.
Negotiation negotiation_of(Version highest, std::optional<Version> known = std::nullopt)
{
	return Negotiation(highest, known);
}

/// One whose first Call has been sent.
Negotiation begun()
{
	Negotiation negotiation = negotiation_of(Version::two);
	negotiation.sent(first);
	return negotiation;
}

TEST(Negotiation, WhereVersionOneIsTheHighest_IsSettled)
{
	Negotiation negotiation = negotiation_of(Version::one);
	EXPECT_TRUE(negotiation.is_settled());
	EXPECT_EQ(negotiation.version(), Version::one);
	negotiation.sent(first);
	EXPECT_FALSE(negotiation.is_awaited());
	EXPECT_FALSE(negotiation.awaits(first));
	EXPECT_EQ(negotiation.take(version_error(2, 2)), Verdict::nothing);
	EXPECT_EQ(negotiation.next(), std::nullopt);
}

TEST(Negotiation, BeginsWithTheHighestVersionUnsettled)
{
	Negotiation negotiation = negotiation_of(Version::two);
	EXPECT_FALSE(negotiation.is_settled());
	EXPECT_EQ(negotiation.version(), Version::two);
	EXPECT_FALSE(negotiation.is_awaited());
	EXPECT_FALSE(negotiation.awaits(Xid{0}));
	EXPECT_EQ(negotiation.next(), std::nullopt);
	negotiation.sent(first);
	EXPECT_TRUE(negotiation.is_awaited());
	EXPECT_TRUE(negotiation.awaits(first));
	EXPECT_FALSE(negotiation.awaits(Xid{8}));
}

TEST(Negotiation, ReplyInItsVersion_SettlesIt)
{
	const wire::Body bodies[] = {wire::Msg{}, wire::NoMsg{}};
	for (const wire::Body &body : bodies) {
		Negotiation negotiation = begun();
		EXPECT_EQ(negotiation.take({first, 32, body, 2}), Verdict::settled);
		EXPECT_TRUE(negotiation.is_settled());
		EXPECT_FALSE(negotiation.is_awaited());
		EXPECT_EQ(negotiation.version(), Version::two);
		EXPECT_EQ(negotiation.next(), Version::two);
	}
}

TEST(Negotiation, MessageForAnotherCall_SettlesNothing)
{
	Negotiation negotiation = begun();
	EXPECT_EQ(negotiation.take(reply(2, Xid{8})), Verdict::nothing);
	EXPECT_EQ(negotiation.take(version_error(1, 1, Xid{8})), Verdict::nothing);
	EXPECT_FALSE(negotiation.is_settled());
}

TEST(Negotiation, MessageBeforeAnyCall_SettlesNothing)
{
	Negotiation negotiation = negotiation_of(Version::two);
	EXPECT_EQ(negotiation.take(reply(2, Xid{0})), Verdict::nothing);
	EXPECT_FALSE(negotiation.is_settled());
}

TEST(Negotiation, ReplyInAnotherVersion_SettlesNothing)
{
	Negotiation negotiation = begun();
	EXPECT_EQ(negotiation.take(reply(1)), Verdict::nothing);
	EXPECT_FALSE(negotiation.is_settled());
}

TEST(Negotiation, VersionErrorThatNamesOne_HasTheCallSentAgain)
{
	/* A range that has the refused version in it does not say that this version is spoken. An inverted one says nothing. */
	const std::pair<std::uint32_t, std::uint32_t> ranges[] = {{1, 1},	   {0, 1}, {1, 2},
								  {1, 0xffffffff}, {2, 1}, {9, 3}};
	for (const auto &[low, high] : ranges) {
		for (const std::uint32_t version : {0u, 1u, 2u, 9u}) {
			Negotiation negotiation = begun();
			EXPECT_EQ(negotiation.take(version_error(low, high, first, version)), Verdict::again)
				<< low << high;
			EXPECT_TRUE(negotiation.is_settled());
			EXPECT_EQ(negotiation.version(), Version::one);
			EXPECT_EQ(negotiation.next(), Version::one);
		}
	}
}

TEST(Negotiation, VersionErrorWithoutAnyOfOurs_FailsTheCall)
{
	const std::pair<std::uint32_t, std::uint32_t> ranges[] = {{2, 2}, {3, 9}, {0, 0}, {2, 0xffffffff}};
	for (const auto &[low, high] : ranges) {
		Negotiation negotiation = begun();
		EXPECT_EQ(negotiation.take(version_error(low, high)), Verdict::nothing) << low;
		EXPECT_FALSE(negotiation.is_settled());
		EXPECT_FALSE(negotiation.is_awaited());
	}
}

TEST(Negotiation, ErrorOfVersionOne_HasTheCallSentAgain)
{
	Negotiation negotiation = begun();
	EXPECT_EQ(negotiation.take(chunk_error(1)), Verdict::again);
	EXPECT_EQ(negotiation.version(), Version::one);
}

TEST(Negotiation, ErrorOfVersionTwo_IsAboutTheCallAndSettlesNothing)
{
	Negotiation negotiation = begun();
	EXPECT_EQ(negotiation.take(chunk_error(2)), Verdict::nothing);
	EXPECT_FALSE(negotiation.is_settled());
	EXPECT_FALSE(negotiation.is_awaited());
	negotiation.sent(Xid{8});
	EXPECT_TRUE(negotiation.is_awaited());
	EXPECT_TRUE(negotiation.awaits(Xid{8}));
}

TEST(Negotiation, WithoutAnAnswer_HasTheNextConnectionBeginWithVersionOne)
{
	EXPECT_EQ(begun().next(), Version::one);
}

TEST(Negotiation, OnceSettled_IsNotBegunAgain)
{
	Negotiation negotiation = begun();
	EXPECT_EQ(negotiation.take(reply(2)), Verdict::settled);
	EXPECT_EQ(negotiation.take(reply(2)), Verdict::nothing);
	EXPECT_EQ(negotiation.take(version_error(1, 1)), Verdict::nothing);
	EXPECT_EQ(negotiation.version(), Version::two);
}

TEST(Negotiation, OfAKnownVersion_IsSettled)
{
	for (const Version known : {Version::one, Version::two}) {
		const Negotiation negotiation = negotiation_of(Version::two, known);
		EXPECT_TRUE(negotiation.is_settled());
		EXPECT_EQ(negotiation.version(), known);
		EXPECT_EQ(negotiation.next(), std::nullopt);
	}
	EXPECT_EQ(Negotiation(Version::one, Version::two).version(), Version::one);
}

TEST(Negotiation, KnownVersionThatIsRefused_IsOutdated)
{
	Negotiation negotiation = negotiation_of(Version::two, Version::two);
	EXPECT_EQ(negotiation.take(version_error(1, 1)), Verdict::outdated);
}

TEST(Negotiation, KnownVersionThatHasBeenSpoken_IsNotOutdated)
{
	Negotiation negotiation = negotiation_of(Version::two, Version::two);
	EXPECT_EQ(negotiation.take(reply(2)), Verdict::nothing);
	EXPECT_TRUE(negotiation.is_doubtful());
	negotiation.spoken();
	EXPECT_FALSE(negotiation.is_doubtful());
	EXPECT_EQ(negotiation.take(version_error(1, 1)), Verdict::nothing);
	Negotiation of_one = negotiation_of(Version::two, Version::one);
	EXPECT_EQ(of_one.take(version_error(2, 2)), Verdict::nothing);
	EXPECT_FALSE(of_one.is_doubtful());
}

TEST(Negotiation, KnownVersionThatIsRefused_IsSaidToBeOutdatedOnce)
{
	Negotiation negotiation = negotiation_of(Version::two, Version::two);
	EXPECT_EQ(negotiation.take(version_error(1, 1)), Verdict::outdated);
	EXPECT_EQ(negotiation.take(version_error(1, 1)), Verdict::nothing);
}

TEST(Negotiation, WithNothingKnown_IsNotDoubtful)
{
	Negotiation negotiation = negotiation_of(Version::two, std::nullopt);
	EXPECT_FALSE(negotiation.is_doubtful());
}

/// So many are remembered.
constexpr std::uint64_t most = 64;

TEST(KnownVersions, AtFirst_AreNone)
{
	KnownVersions known;
	EXPECT_EQ(known.find(Responder{0}, 0), std::nullopt);
	EXPECT_EQ(known.find(Responder{1}, 0), std::nullopt);
}

TEST(KnownVersions, WhatWasRemembered_IsFound)
{
	KnownVersions known;
	known.remember(Responder{1}, Version::two, 100);
	known.remember(Responder{2}, Version::one, 100);
	EXPECT_EQ(known.find(Responder{1}, 100), Version::two);
	EXPECT_EQ(known.find(Responder{2}, 100), Version::one);
	EXPECT_EQ(known.find(Responder{3}, 100), std::nullopt);
	known.remember(Responder{1}, Version::one, 101);
	EXPECT_EQ(known.find(Responder{1}, 101), Version::one);
}

TEST(KnownVersions, AfterAnHour_IsForgotten)
{
	KnownVersions known;
	known.remember(Responder{1}, Version::two, 100);
	EXPECT_EQ(known.find(Responder{1}, 3699), Version::two);
	/* Not looked at since it was learnt, however often it was used. */
	EXPECT_EQ(known.find(Responder{1}, 3700), std::nullopt);
	EXPECT_EQ(known.find(Responder{1}, 101), std::nullopt);
}

TEST(KnownVersions, WhatIsRememberedAgain_IsForgottenNoLater)
{
	KnownVersions known;
	known.remember(Responder{1}, Version::one, 100);
	known.remember(Responder{1}, Version::one, 3000);
	EXPECT_EQ(known.find(Responder{1}, 3699), Version::one);
	EXPECT_EQ(known.find(Responder{1}, 3700), std::nullopt);
	known.remember(Responder{1}, Version::one, 3700);
	EXPECT_EQ(known.find(Responder{1}, 7299), Version::one);
	known.remember(Responder{1}, Version::two, 7299);
	EXPECT_EQ(known.find(Responder{1}, 10898), Version::two);
	/* What is too old is learnt anew, also where nobody has looked for it since. */
	known.remember(Responder{1}, Version::two, 10899);
	EXPECT_EQ(known.find(Responder{1}, 14498), Version::two);
	EXPECT_EQ(known.find(Responder{1}, 14499), std::nullopt);
}

TEST(KnownVersions, OneOfThem_IsForgottenAlone)
{
	KnownVersions known;
	for (std::uint64_t n = 1; n <= 3; ++n)
		known.remember(Responder{n}, Version::two, n);
	known.forget(Responder{9});
	known.forget(Responder{1});
	EXPECT_EQ(known.find(Responder{1}, 3), std::nullopt);
	EXPECT_EQ(known.find(Responder{2}, 3), Version::two);
	EXPECT_EQ(known.find(Responder{3}, 3), Version::two);
	known.forget_all();
	EXPECT_EQ(known.find(Responder{2}, 3), std::nullopt);
	EXPECT_EQ(known.find(Responder{3}, 3), std::nullopt);
}

TEST(KnownVersions, OneThatWasForgotten_LeavesRoomForAnother)
{
	KnownVersions known;
	for (std::uint64_t n = 0; n < most; ++n)
		known.remember(Responder{n}, Version::two, 1);
	known.forget(Responder{5});
	known.remember(Responder{1000}, Version::one, 1);
	EXPECT_EQ(known.find(Responder{1000}, 1), Version::one);
	for (std::uint64_t n = 0; n < most; ++n)
		EXPECT_EQ(known.find(Responder{n}, 1).has_value(), n != 5) << n;
}

TEST(KnownVersions, OfTooMany_TheOneUsedLongestAgoGoes)
{
	KnownVersions known;
	for (std::uint64_t n = 0; n < most; ++n)
		known.remember(Responder{n}, Version::two, n);
	EXPECT_EQ(known.find(Responder{0}, 100), Version::two);
	known.remember(Responder{1000}, Version::one, 101);
	EXPECT_EQ(known.find(Responder{1}, 102), std::nullopt);
	EXPECT_EQ(known.find(Responder{1000}, 102), Version::one);
	EXPECT_EQ(known.find(Responder{0}, 102), Version::two);
	for (std::uint64_t n = 2; n < most; ++n)
		EXPECT_EQ(known.find(Responder{n}, 102), Version::two) << n;
}

} // namespace
} // namespace rpcordma::unit
