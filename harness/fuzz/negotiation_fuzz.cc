// SPDX-License-Identifier: GPL-2.0-only
/// Any sequence of Calls, answers and lost connections, as a requester negotiates the version with one responder; and what it
/// remembers of many.
#include <array>
#include <optional>

#include <fuzzer/FuzzedDataProvider.h>

#include "harness/fuzz/require.hh"
#include "proto/negotiation.hh"

using namespace rpcordma;
using fuzz::require;
using proto::KnownVersions;
using proto::Negotiation;
using wire::Version;
using Verdict = proto::Negotiation::Verdict;

namespace {

Version version(FuzzedDataProvider &input)
{
	return input.ConsumeBool() ? Version::two : Version::one;
}

/// Few, so that many messages are for the first Call.
wire::Xid xid(FuzzedDataProvider &input)
{
	return wire::Xid{input.ConsumeIntegralInRange<std::uint32_t>(0, 3)};
}

std::uint32_t bound(FuzzedDataProvider &input)
{
	return input.ConsumeBool() ? input.ConsumeIntegralInRange<std::uint32_t>(0, 3) :
				     input.ConsumeIntegral<std::uint32_t>();
}

/// What classify_received() may give. Only ERR_VERS comes in any version.
proto::ForCall message(FuzzedDataProvider &input)
{
	proto::ForCall message{xid(input), 1, wire::Msg{}, std::to_underlying(version(input))};
	switch (input.ConsumeIntegralInRange(0, 3)) {
	case 0:
		message.body = wire::NoMsg{};
		break;
	case 1:
		message.body = wire::ChunkError{};
		break;
	case 2:
		message.body = wire::VersionError{bound(input), bound(input)};
		message.version = bound(input);
		break;
	default:
		break;
	}
	return message;
}

/// The version to go on with after a refusal of version 2; none where the Call fails.
std::optional<Version> version_left_by(const wire::VersionError &range)
{
	const bool names_one = range.low <= 1 && range.high >= 1;
	return names_one || range.low > range.high ? std::optional(Version::one) : std::nullopt;
}

/// What the answer to the first Call has to come to: the version that it settles, if any.
std::optional<Version> settled_by(const proto::ForCall &answer)
{
	if (const auto *range = std::get_if<wire::VersionError>(&answer.body))
		return version_left_by(*range);
	const bool is_error = std::holds_alternative<wire::ChunkError>(answer.body);
	const bool is_of_two = answer.version == RPCRDMA_V2;
	return is_error == is_of_two ? std::nullopt : std::optional(is_error ? Version::one : Version::two);
}

/// Whether it answers the first Call, with an error that leaves it to the next Call to settle the version.
bool is_final_error(const proto::ForCall &answer)
{
	if (const auto *range = std::get_if<wire::VersionError>(&answer.body))
		return !version_left_by(*range);
	return std::holds_alternative<wire::ChunkError>(answer.body) && answer.version == RPCRDMA_V2;
}

/// Returns whether the first Call has its answer, and the version is not settled.
bool require_unsettled_taken(Negotiation &negotiation, const proto::ForCall &answer)
{
	const Version before = negotiation.version();
	const bool is_awaited = negotiation.awaits(answer.xid);
	const auto settled = is_awaited ? settled_by(answer) : std::nullopt;
	const Verdict verdict = negotiation.take(answer);
	require(negotiation.is_settled() == settled.has_value(), "an answer settles the version, or does not");
	require(negotiation.version() == settled.value_or(before), "it settles that one");
	if (!settled)
		require(verdict == Verdict::nothing, "what settles nothing means nothing");
	else
		require(verdict == (*settled == before ? Verdict::settled : Verdict::again), "the Call is sent again "
											     "where it has to be");
	return is_awaited && is_final_error(answer);
}

/// Returns whether the message said that the version is not spoken any more.
bool require_settled_taken(Negotiation &negotiation, const proto::ForCall &message)
{
	const Version before = negotiation.version();
	const Verdict verdict = negotiation.take(message);
	require(negotiation.is_settled() && negotiation.version() == before, "a settled version never changes");
	require(verdict == Verdict::nothing || verdict == Verdict::outdated, "nothing is settled twice");
	require(verdict == Verdict::nothing || std::holds_alternative<wire::VersionError>(message.body), "a version is "
													 "outdated "
													 "where an "
													 "error says "
													 "so");
	return verdict == Verdict::outdated;
}

/// One connection; returns what it teaches the next one.
std::optional<Version> require_connection(FuzzedDataProvider &input, Version highest, std::optional<Version> known)
{
	Negotiation negotiation(highest, known);
	require(negotiation.is_settled() == (known || highest == Version::one), "what is known is not negotiated");
	bool is_doubtful = known && negotiation.version() == Version::two;
	require(negotiation.is_doubtful() == is_doubtful, "what is known has not been spoken yet");
	std::optional<wire::Xid> first;
	bool is_answered = false;
	while (input.remaining_bytes() > 0 && input.ConsumeIntegralInRange(0, 7) > 0) {
		if (input.ConsumeIntegralInRange(0, 7) == 7) {
			negotiation.spoken();
			is_doubtful = false;
		} else if (input.ConsumeBool()) {
			const wire::Xid sent = xid(input);
			if (!negotiation.is_settled()) {
				first = sent;
				is_answered = false;
			}
			negotiation.sent(sent);
		} else if (!negotiation.is_settled()) {
			is_answered = require_unsettled_taken(negotiation, message(input)) || is_answered;
		} else {
			const bool is_outdated = require_settled_taken(negotiation, message(input));
			require(!is_outdated || is_doubtful, "what has been spoken on the connection is not outdated");
			is_doubtful = is_doubtful && !is_outdated;
		}
		require(negotiation.version() <= highest, "no version is spoken that this end does not offer");
		require(negotiation.is_awaited() == (!negotiation.is_settled() && first && !is_answered), "a Call that "
													  "may stay "
													  "without "
													  "answer is "
													  "known");
	}
	const auto next = negotiation.next();
	require(next.has_value() == first.has_value(), "a first Call teaches something, whatever comes of it");
	require(!next || *next == (negotiation.is_settled() ? negotiation.version() : Version::one), "without an "
												     "answer the next "
												     "connection has "
												     "version 1");
	return next;
}

/// However connections end: of two on which Calls were sent, the second has nothing left to negotiate.
void require_connections(FuzzedDataProvider &input)
{
	const Version highest = version(input);
	std::optional<Version> known;
	while (input.remaining_bytes() > 0 && input.ConsumeBool()) {
		const auto learnt = require_connection(input, highest, known);
		require(!learnt || Negotiation(highest, learnt).is_settled(), "negotiations come to an end");
		/* Or from another connection, or forgotten. */
		known = input.ConsumeBool() ? learnt :
			input.ConsumeBool() ? std::optional(version(input)) :
					      std::nullopt;
	}
}

constexpr std::uint32_t responders = KnownVersions::most + 8;

struct Learnt {
	Version version;
	std::uint64_t when;
};

class Model {
    public:
	void require_found(KnownVersions &known, std::uint32_t responder, std::uint64_t now)
	{
		auto &learnt = learnt_[responder];
		const auto found = known.find(KnownVersions::Responder{responder}, now);
		const bool is_fresh = learnt && now - learnt->when < KnownVersions::memory_seconds;
		require(!found || (is_fresh && *found == learnt->version), "what is found is what was learnt last, and "
									   "not long ago");
		require(found || !is_fresh || has_overflowed_, "nothing is forgotten while there is room");
		if (!found)
			learnt.reset();
	}
	void remember(std::uint32_t responder, Version version, std::uint64_t now)
	{
		auto &known = learnt_[responder];
		/* Of too many, this one may have been forgotten. */
		if (!known || known->version != version || now - known->when >= KnownVersions::memory_seconds ||
		    has_overflowed_)
			known = {version, now};
		std::uint32_t count = 0;
		for (const auto &learnt : learnt_)
			count += learnt.has_value();
		has_overflowed_ = has_overflowed_ || count > KnownVersions::most;
	}
	void forget(std::uint32_t responder) { learnt_[responder].reset(); }
	void forget_all() { *this = {}; }

    private:
	std::array<std::optional<Learnt>, responders> learnt_;
	bool has_overflowed_ = false;
};

void require_memory(FuzzedDataProvider &input)
{
	KnownVersions known;
	Model model;
	std::uint64_t now = input.ConsumeIntegralInRange(0u, 10000u);
	/* Else no input would be long enough to fill the memory. */
	const std::uint32_t beforehand = input.ConsumeIntegralInRange(0u, responders - 1);
	for (std::uint32_t responder = 0; responder < beforehand; ++responder) {
		known.remember(KnownVersions::Responder{responder}, Version::two, now);
		model.remember(responder, Version::two, now);
	}
	while (input.remaining_bytes() > 0) {
		const auto responder = input.ConsumeIntegralInRange(0u, responders - 1);
		now += input.ConsumeBool() ? input.ConsumeIntegralInRange(0u, 4000u) : 0;
		switch (input.ConsumeIntegralInRange(0, 7)) {
		case 0:
			known.forget_all();
			model.forget_all();
			break;
		case 1:
			known.forget(KnownVersions::Responder{responder});
			model.forget(responder);
			break;
		case 2:
		case 3: {
			const Version learnt = version(input);
			known.remember(KnownVersions::Responder{responder}, learnt, now);
			model.remember(responder, learnt, now);
			require(known.find(KnownVersions::Responder{responder}, now) == learnt, "what was just learnt "
												"is known");
			break;
		}
		default:
			model.require_found(known, responder, now);
		}
	}
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	FuzzedDataProvider input(data, size);
	require_connections(input);
	require_memory(input);
	return 0;
}
