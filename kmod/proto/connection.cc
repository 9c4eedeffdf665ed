// SPDX-License-Identifier: GPL-2.0-only
#include "proto/connection.hh"

#include <algorithm>
#include <utility>

namespace rpcordma::proto {
namespace {

/// A stale connection is one that the peer has not finished closing, and an invalid service is nobody's. Every other reason is
/// somebody's who does not want us.
ConnectOutcome reject_outcome(RejectReason reason) noexcept
{
	if (reason == RejectReason::stale_connection)
		return ConnectOutcome::try_again;
	return reason == RejectReason::invalid_service_id ? ConnectOutcome::refused : ConnectOutcome::turned_away;
}

} // namespace

Agreement agree(const wire::PrivateData &requester, const wire::PrivateData &responder) noexcept
{
	// RFC 8797, 4.2: the smaller of what the one sends and the other receives.
	return {
		.inline_thresholds =
			{
				.call = std::min(requester.send_size, responder.receive_size),
				.reply = std::min(responder.send_size, requester.receive_size),
			},
		.remote_invalidation = requester.remote_invalidation && responder.remote_invalidation,
	};
}

Terms Agreement::terms(wire::Version version) const noexcept
{
	const std::uint32_t least = least_threshold(version);
	return {version,
		{.call = std::max(inline_thresholds.call, least), .reply = std::max(inline_thresholds.reply, least)}};
}

ConnectOutcome connect_outcome(ConnectEvent event, RejectReason reason) noexcept
{
	switch (event) {
	case ConnectEvent::established:
		return ConnectOutcome::connected;
	case ConnectEvent::address_error:
	case ConnectEvent::unreachable:
		return ConnectOutcome::host_unreachable;
	case ConnectEvent::route_error:
		return ConnectOutcome::network_unreachable;
	case ConnectEvent::rejected:
		return reject_outcome(reason);
	case ConnectEvent::short_of_resources:
		return ConnectOutcome::try_again;
	case ConnectEvent::device_removed:
		break;
	}
	return ConnectOutcome::no_device;
}

void Reconnection::begin() noexcept
{
	has_ended_ = false;
	is_useful_ = false;
	pace_ = Pace::at_once;
}

void Reconnection::failed(ConnectOutcome outcome, std::uint64_t ms) noexcept
{
	if (ms >= lasting_ms)
		pace_ = Pace::at_once;
	else
		pace_ = outcome == ConnectOutcome::refused ? Pace::steady : Pace::slowing;
}

void Reconnection::replied() noexcept
{
	is_useful_ = true;
	is_spent_ = false;
}

void Reconnection::ended(By by, std::uint64_t ms) noexcept
{
	if (std::exchange(has_ended_, true))
		return;
	if (is_useful_ || ms >= lasting_ms)
		return;
	if (by == By::others || std::exchange(is_spent_, true))
		pace_ = Pace::slowing;
}

} // namespace rpcordma::proto
