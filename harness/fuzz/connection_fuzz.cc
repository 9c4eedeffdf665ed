// SPDX-License-Identifier: GPL-2.0-only
/// The life of a connection: what both ends agree on, what comes of an attempt, and any sequence of Calls, Replies and
/// credit values, on both sides.
#include <algorithm>

#include <fuzzer/FuzzedDataProvider.h>

#include "harness/fuzz/require.hh"
#include "proto/connection.hh"
#include "proto/credits.hh"
#include "proto/failures.hh"
#include "proto/grants.hh"

using namespace rpcordma;
using namespace rpcordma::proto;
using fuzz::require;

namespace {

wire::PrivateData private_data(FuzzedDataProvider &input)
{
	const std::vector<std::uint8_t> received =
		input.ConsumeBytes<std::uint8_t>(input.ConsumeIntegralInRange(0, 40));
	return wire::PrivateData::decode(std::as_bytes(std::span(received)));
}

void require_agreement(const wire::PrivateData &requester, const wire::PrivateData &responder)
{
	const auto [thresholds, remote_invalidation] = agree(requester, responder);
	require(thresholds.call == std::min(requester.send_size, responder.receive_size), "a Call fits both ends");
	require(thresholds.reply == std::min(responder.send_size, requester.receive_size), "a Reply fits both ends");
	require(thresholds.call >= 1024 && thresholds.reply >= 1024, "no threshold is below the default");
	require(!remote_invalidation || requester.remote_invalidation, "nothing is invalidated that is not offered");
}

void require_outcome(FuzzedDataProvider &input)
{
	const auto event = static_cast<ConnectEvent>(input.ConsumeIntegralInRange<unsigned>(0, 6));
	const auto reason = static_cast<RejectReason>(input.ConsumeIntegral<std::uint16_t>());
	const ConnectOutcome outcome = connect_outcome(event, reason);
	require((outcome == ConnectOutcome::connected) == (event == ConnectEvent::established), "only what is "
												"established is "
												"connected");
	require((outcome == ConnectOutcome::no_device) == (event == ConnectEvent::device_removed), "a device is gone "
												   "when it says "
												   "so");
}

void require_credits(FuzzedDataProvider &input)
{
	Credits credits(input.ConsumeIntegral<std::uint32_t>());
	require(credits.limit() == 1, "one credit before the first Reply");
	while (input.ConsumeBool()) {
		const auto value = input.ConsumeBool() ? input.ConsumeIntegralInRange<std::uint32_t>(0, 64) :
							 input.ConsumeIntegral<std::uint32_t>();
		const Grant grant = credits.granted(value);
		require((grant == Grant::zero) == (value == 0), "a grant of zero is noticed");
		require((grant == Grant::above_request) == (value > credits.requested()), "a grant above the request "
											  "is "
											  "noticed");
		require(credits.limit() >= 1 && credits.limit() <= credits.requested(), "credits keep their limits");
	}
}

void require_grants(FuzzedDataProvider &input)
{
	const auto most = input.ConsumeIntegralInRange<std::uint32_t>(0, 300);
	Grants grants(most);
	std::uint32_t outstanding = 0;
	while (input.remaining_bytes() > 0) {
		switch (input.ConsumeIntegralInRange(0, 3)) {
		case 0:
			require(grants.arrived() == (outstanding < std::max(most, 1u)), "one Call too many is noticed");
			outstanding = grants.outstanding();
			break;
		case 1:
			grants.requested(input.ConsumeIntegral<std::uint32_t>());
			break;
		case 2:
			if (outstanding > 0) {
				grants.done();
				outstanding--;
			}
			break;
		default:
			const std::uint32_t next = grants.next();
			require(next >= grants.in_force() && next <= std::max(most, 1u), "grants grow, to their limit");
			require(grants.receives_for(next) + std::min(next, outstanding) == next, "each Call finds a "
												 "Receive");
			grants.announced(next);
		}
		require(grants.outstanding() == outstanding, "Calls are counted");
	}
}

void require_failures(FuzzedDataProvider &input)
{
	Failures<4> failures;
	std::uint64_t now = 0;
	while (input.ConsumeBool()) {
		const Transaction transaction{input.ConsumeIntegralInRange<std::uint64_t>(0, 11)};
		now += input.ConsumeIntegralInRange(0u, 200u);
		if (input.ConsumeBool()) {
			failures.remember(transaction, now);
			require(failures.recognise(transaction, now), "a failure is recognised");
			failures.remember(transaction, now);
			continue;
		}
		(void)failures.recognise(transaction, now);
		require(!failures.recognise(transaction, now), "a failure is recognised once");
	}
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	FuzzedDataProvider input(data, size);
	const wire::PrivateData requester = private_data(input);
	require_agreement(requester, private_data(input));
	require_outcome(input);
	require_credits(input);
	require_failures(input);
	require_grants(input);
	return 0;
}
