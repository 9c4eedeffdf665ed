// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include <utility>

#include "proto/connection.hh"

namespace rpcordma::unit {
namespace {

using namespace proto;
using wire::PrivateData;

TEST(Agreement, Thresholds_AreTheSmallerOfSendAndReceive)
{
	const PrivateData requester{4096, 8192, false};
	const PrivateData responder{16384, 2048, false};
	const Agreement agreement = agree(requester, responder);
	EXPECT_EQ(agreement.inline_thresholds.call, 2048u);
	EXPECT_EQ(agreement.inline_thresholds.reply, 8192u);

	const Agreement other_way = agree(responder, requester);
	EXPECT_EQ(other_way.inline_thresholds.call, 8192u);
	EXPECT_EQ(other_way.inline_thresholds.reply, 2048u);
}

TEST(Agreement, SilentResponder_GetsTheDefaultThresholds)
{
	const Agreement agreement = agree({65536, 65536, true}, {});
	EXPECT_EQ(agreement.inline_thresholds.call, 1024u);
	EXPECT_EQ(agreement.inline_thresholds.reply, 1024u);
	EXPECT_FALSE(agreement.remote_invalidation);
}

TEST(Agreement, RemoteInvalidation_TakesBoth)
{
	EXPECT_TRUE(agree({1024, 1024, true}, {1024, 1024, true}).remote_invalidation);
	EXPECT_FALSE(agree({1024, 1024, false}, {1024, 1024, true}).remote_invalidation);
	EXPECT_FALSE(agree({1024, 1024, true}, {1024, 1024, false}).remote_invalidation);
	EXPECT_FALSE(agree({1024, 1024, false}, {1024, 1024, false}).remote_invalidation);
}

TEST(Terms, OfVersionOne_AreTheThresholdsThatWereAgreedOn)
{
	const Terms terms = Agreement{{.call = 1024, .reply = 65536}, false}.terms(wire::Version::one);
	EXPECT_EQ(terms.version, wire::Version::one);
	EXPECT_EQ(terms.thresholds.call, 1024u);
	EXPECT_EQ(terms.thresholds.reply, 65536u);
}

TEST(Terms, OfVersionOne_AreNeverBelowItsDefault)
{
	const Terms terms = Agreement{{.call = 1023, .reply = 1025}, false}.terms(wire::Version::one);
	EXPECT_EQ(terms.thresholds.call, 1024u);
	EXPECT_EQ(terms.thresholds.reply, 1025u);
}

TEST(Terms, OfVersionTwo_AreNeverBelowItsDefault)
{
	const auto terms = [](std::uint32_t call, std::uint32_t reply) {
		const Terms its = Agreement{{.call = call, .reply = reply}, false}.terms(wire::Version::two);
		EXPECT_EQ(its.version, wire::Version::two);
		return std::pair{its.thresholds.call, its.thresholds.reply};
	};
	EXPECT_EQ(terms(1024, 65536), std::pair(4096u, 65536u));
	EXPECT_EQ(terms(65536, 1024), std::pair(65536u, 4096u));
	EXPECT_EQ(terms(4095, 4097), std::pair(4096u, 4097u));
	EXPECT_EQ(terms(4097, 4096), std::pair(4097u, 4096u));
}

TEST(Terms, WithASilentPeer_AreTheDefaultsOfTheVersion)
{
	const Agreement agreement = agree({65536, 65536, true}, {});
	EXPECT_EQ(agreement.terms(wire::Version::one).thresholds.call, 1024u);
	EXPECT_EQ(agreement.terms(wire::Version::one).thresholds.reply, 1024u);
	EXPECT_EQ(agreement.terms(wire::Version::two).thresholds.call, 4096u);
	EXPECT_EQ(agreement.terms(wire::Version::two).thresholds.reply, 4096u);
}

TEST(ReceiveSize, IsWhatWasAgreed_ButTakesWhatASilentPeerMaySend)
{
	using proto::receive_size;
	EXPECT_EQ(receive_size(16384, 16384, wire::Version::two), 16384u);
	EXPECT_EQ(receive_size(16384, 8192, wire::Version::two), 8192u);
	EXPECT_EQ(receive_size(16384, 1024, wire::Version::two), 4096u);
	EXPECT_EQ(receive_size(1024, 1024, wire::Version::two), 4096u);
	EXPECT_EQ(receive_size(16384, 1024, wire::Version::one), 4096u);
	EXPECT_EQ(receive_size(2048, 1024, wire::Version::one), 2048u);
	EXPECT_EQ(receive_size(1024, 1024, wire::Version::one), 1024u);
}

TEST(ConnectOutcome, FollowsTheEvent)
{
	const auto outcome = [](ConnectEvent event) { return connect_outcome(event, {}); };
	EXPECT_EQ(outcome(ConnectEvent::established), ConnectOutcome::connected);
	EXPECT_EQ(outcome(ConnectEvent::address_error), ConnectOutcome::host_unreachable);
	EXPECT_EQ(outcome(ConnectEvent::route_error), ConnectOutcome::network_unreachable);
	EXPECT_EQ(outcome(ConnectEvent::unreachable), ConnectOutcome::host_unreachable);
	EXPECT_EQ(outcome(ConnectEvent::device_removed), ConnectOutcome::no_device);
	EXPECT_EQ(outcome(ConnectEvent::short_of_resources), ConnectOutcome::try_again);
	EXPECT_EQ(outcome(ConnectEvent{255}), ConnectOutcome::no_device);
}

TEST(ConnectOutcome, OfARejection_FollowsTheReason)
{
	const auto outcome = [](RejectReason reason) { return connect_outcome(ConnectEvent::rejected, reason); };
	EXPECT_EQ(outcome(RejectReason::invalid_service_id), ConnectOutcome::refused);
	EXPECT_EQ(outcome(RejectReason::stale_connection), ConnectOutcome::try_again);
	EXPECT_EQ(outcome(RejectReason::consumer_defined), ConnectOutcome::turned_away);
	EXPECT_EQ(outcome(RejectReason{}), ConnectOutcome::turned_away);
	EXPECT_EQ(outcome(RejectReason{0xffff}), ConnectOutcome::turned_away);
}

TEST(ConnectOutcome, ReasonWithoutARejection_MakesNoDifference)
{
	EXPECT_EQ(connect_outcome(ConnectEvent::established, RejectReason::stale_connection),
		  ConnectOutcome::connected);
	EXPECT_EQ(connect_outcome(ConnectEvent::unreachable, RejectReason::consumer_defined),
		  ConnectOutcome::host_unreachable);
}

TEST(RejectReason, HasTheInfiniBandNumbers)
{
	EXPECT_EQ(std::to_underlying(RejectReason::invalid_service_id), 8);
	EXPECT_EQ(std::to_underlying(RejectReason::stale_connection), 10);
	EXPECT_EQ(std::to_underlying(RejectReason::consumer_defined), 28);
}

using Pace = Reconnection::Pace;
constexpr std::uint64_t soon = Reconnection::lasting_ms - 1;
constexpr std::uint64_t late = Reconnection::lasting_ms;

TEST(Reconnection, AtFirst_IsAtOnce)
{
	EXPECT_EQ(Reconnection().pace(), Pace::at_once);
}

TEST(Reconnection, AfterAnAttemptThatFailedSoon_SlowsDown)
{
	Reconnection reconnection;
	reconnection.begin();
	reconnection.failed(ConnectOutcome::turned_away, soon);
	EXPECT_EQ(reconnection.pace(), Pace::slowing);
	reconnection.begin();
	EXPECT_EQ(reconnection.pace(), Pace::at_once);
	reconnection.failed(ConnectOutcome::host_unreachable, 0);
	EXPECT_EQ(reconnection.pace(), Pace::slowing);
}

TEST(Reconnection, AfterAnAttemptThatNobodyAnsweredForLong_IsAtOnce)
{
	Reconnection reconnection;
	reconnection.begin();
	reconnection.failed(ConnectOutcome::host_unreachable, late);
	EXPECT_EQ(reconnection.pace(), Pace::at_once);
}

TEST(Reconnection, WhereNobodyListensYet_KeepsItsPace)
{
	Reconnection reconnection;
	for (int n = 0; n < 3; n++) {
		reconnection.begin();
		reconnection.failed(ConnectOutcome::refused, soon);
		EXPECT_EQ(reconnection.pace(), Pace::steady);
	}
	reconnection.begin();
	reconnection.failed(ConnectOutcome::refused, late);
	EXPECT_EQ(reconnection.pace(), Pace::at_once);
}

TEST(Reconnection, AfterAConnectionWithAReply_IsAtOnceWhoeverEndsIt)
{
	for (const auto by : {Reconnection::By::requester, Reconnection::By::others}) {
		Reconnection reconnection;
		reconnection.begin();
		reconnection.replied();
		reconnection.ended(by, 0);
		EXPECT_EQ(reconnection.pace(), Pace::at_once);
	}
}

TEST(Reconnection, AfterAConnectionThatOthersEndedSoon_SlowsDown)
{
	Reconnection reconnection;
	reconnection.begin();
	reconnection.ended(Reconnection::By::others, soon);
	EXPECT_EQ(reconnection.pace(), Pace::slowing);
}

TEST(Reconnection, AfterAConnectionThatLasted_IsAtOnceWhoeverEndsIt)
{
	for (const auto by : {Reconnection::By::requester, Reconnection::By::others}) {
		Reconnection reconnection;
		for (int n = 0; n < 3; n++) {
			reconnection.begin();
			reconnection.ended(by, late);
			EXPECT_EQ(reconnection.pace(), Pace::at_once);
		}
	}
}

TEST(Reconnection, AfterAConnectionThatTheRequesterEndedSoon_IsAtOnceOnce)
{
	Reconnection reconnection;
	reconnection.begin();
	reconnection.ended(Reconnection::By::requester, 0);
	EXPECT_EQ(reconnection.pace(), Pace::at_once);
	reconnection.begin();
	reconnection.ended(Reconnection::By::requester, soon);
	EXPECT_EQ(reconnection.pace(), Pace::slowing);
	reconnection.begin();
	reconnection.replied();
	reconnection.ended(Reconnection::By::requester, soon);
	EXPECT_EQ(reconnection.pace(), Pace::at_once);
	reconnection.begin();
	reconnection.ended(Reconnection::By::requester, soon);
	EXPECT_EQ(reconnection.pace(), Pace::at_once);
}

TEST(Reconnection, WhatEndsAConnectionFirst_Counts)
{
	Reconnection reconnection;
	reconnection.begin();
	reconnection.ended(Reconnection::By::requester, 0);
	reconnection.ended(Reconnection::By::others, 0);
	EXPECT_EQ(reconnection.pace(), Pace::at_once);
}

} // namespace
} // namespace rpcordma::unit
