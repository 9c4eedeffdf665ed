// SPDX-License-Identifier: GPL-2.0-only
#include "proto/negotiation.hh"

#include <algorithm>

namespace rpcordma::proto {

using wire::Version;

Negotiation::Verdict Negotiation::take(const ForCall &message) noexcept
{
	const auto *const range = std::get_if<wire::VersionError>(&message.body);
	if (is_settled_)
		return range && !std::exchange(is_confirmed_, true) ? Verdict::outdated : Verdict::nothing;
	if (!awaits(message.xid))
		return Verdict::nothing;
	if (range)
		return refused(*range);
	const bool is_error = std::holds_alternative<wire::ChunkError>(message.body);
	if (message.version != std::to_underlying(version_))
		return is_error ? settle(Version::one) : Verdict::nothing;
	/* An error says that something was wrong with the Call, in the version of the Call. */
	return is_error ? answered() : settle(version_);
}

/// The highest version below the one that was refused. Where there is none the message is judged as any other: the Call fails.
Negotiation::Verdict Negotiation::refused(const wire::VersionError &range) noexcept
{
	const std::uint32_t below = std::to_underlying(version_) - 1;
	if (range.low > range.high)
		return settle(Version::one);
	const std::uint32_t version = std::min(range.high, below);
	if (version < range.low || !wire::is_spoken(version, version_))
		return answered();
	return settle(Version{version});
}

/// By what leaves it to the next Call to settle the version.
Negotiation::Verdict Negotiation::answered() noexcept
{
	is_answered_ = true;
	return Verdict::nothing;
}

Negotiation::Verdict Negotiation::settle(Version version) noexcept
{
	is_settled_ = true;
	return std::exchange(version_, version) == version ? Verdict::settled : Verdict::again;
}

std::optional<Version> Negotiation::next() const noexcept
{
	if (!first_)
		return std::nullopt;
	return is_settled_ ? version_ : Version::one;
}

KnownVersions::Entry *KnownVersions::entry_of(Responder responder) noexcept
{
	const auto end = entries_.begin() + count_;
	const auto found = std::find_if(entries_.begin(), end,
					[responder](const Entry &entry) { return entry.responder == responder; });
	return found == end ? nullptr : &*found;
}

std::optional<Version> KnownVersions::find(Responder responder, std::uint64_t now) noexcept
{
	Entry *const entry = entry_of(responder);
	if (!entry)
		return std::nullopt;
	if (now - entry->learnt >= memory_seconds) {
		forget(responder);
		return std::nullopt;
	}
	entry->used = now;
	return entry->version;
}

void KnownVersions::remember(Responder responder, Version version, std::uint64_t now) noexcept
{
	Entry *entry = entry_of(responder);
	if (entry && entry->version == version && now - entry->learnt < memory_seconds) {
		entry->used = now;
		return;
	}
	if (!entry && count_ < most)
		entry = &entries_[count_++];
	if (!entry)
		entry = &*std::min_element(entries_.begin(), entries_.end(),
					   [](const Entry &a, const Entry &b) { return a.used < b.used; });
	*entry = {responder, version, now, now};
}

void KnownVersions::forget(Responder responder) noexcept
{
	if (Entry *const entry = entry_of(responder))
		*entry = entries_[--count_];
}

} // namespace rpcordma::proto
