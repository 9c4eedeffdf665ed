// SPDX-License-Identifier: GPL-2.0-only
/// Optional features (draft-cel-nfsv4-rpcrdma-version-two-01, 3): messages of version 2 whose meaning another specification
/// defines.
#pragma once

#include <cstdint>
#include <span>

#include "wire/header.hh"

namespace rpcordma::proto {

/// What this end does with the messages of one feature. No function sleeps; what it is given lasts until it returns.
struct OptionalFeature {
	/// The number of its messages: rdma_opttype.
	std::uint32_t type;
	/// Whether all or part of a Payload stream may follow the header (3.3).
	bool may_carry_payload;
	/// Answers a message in direction CALL: writes the answer's rdma_optinfo to the front of `room`, and returns its size in
	/// bytes. An error is answered with ERR_BAD_HEADER, and may be any.
	wire::Result<std::size_t> (*answer)(wire::Xid xid, const wire::Optional &message,
					    wire::MutableBytes room) noexcept;
	/// Takes a message in direction REPLY.
	void (*take)(wire::Xid xid, const wire::Optional &message) noexcept;
	/// The peer has refused a message with that XID, because it does not know the feature (3.1). ERR_INVAL_OPTION does not say
	/// which one: every feature is told, and compares the XID with those of its own messages.
	void (*refused)(wire::Xid xid) noexcept;
};

using OptionalFeatures = std::span<const OptionalFeature>;

/// The registry: a feature is added by a row. No specification has defined one.
inline constexpr OptionalFeatures known_features{};

/// A message of a feature that is known.
struct Option {
	wire::Xid xid;
	/// A request in direction CALL, a grant in direction REPLY.
	std::uint32_t credits;
	const OptionalFeature *feature;
	wire::Optional message;
};

/// The feature that `message` is of. Null where none of `features` has that type, or this one is without the Payload stream that
/// follows.
[[nodiscard]] const OptionalFeature *feature_of(const wire::Optional &message, OptionalFeatures features) noexcept;

/// Has the feature answer a message in direction CALL. Writes the answer, an optional message or ERR_BAD_HEADER, to the front of
/// `room`, and returns its size in bytes. Errors: no_room.
[[nodiscard]] wire::Result<std::size_t> answer_option(wire::MutableBytes room, const Option &option,
						      std::uint32_t credits) noexcept;

/// Tells the features of an ERR_INVAL_OPTION. Any other message is ignored.
void tell_of_refusal(wire::Bytes message, OptionalFeatures features = known_features) noexcept;

} // namespace rpcordma::proto
