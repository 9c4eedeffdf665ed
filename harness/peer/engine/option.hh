// SPDX-License-Identifier: GPL-2.0-only
//
// OPTIONAL features of version 2 (draft-cel-nfsv4-rpcrdma-version-two-01, section 3): messages whose meaning another
// specification defines.

#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "codec/header.hh"

namespace peer {

/// One feature, and what an end that has it makes of its messages.
struct Feature {
	/// What cases call it.
	std::string_view name;
	/// The rdma_opttype of its messages.
	std::uint32_t type;
	/// Whether all or part of a Payload stream may follow the header.
	bool may_have_payload;
	/// The rdma_optinfo that answers a message with this one. Throws Malformed.
	Bytes (*answer)(ByteView info);
};

/// The features that one end has.
using Features = std::vector<const Feature *>;

/// The feature of that name; nullptr where there is none.
[[nodiscard]] const Feature *feature_called(std::string_view name) noexcept;

/// The answer to a message of type OPTIONAL in the direction CALL, all of it but the credits, from an end that has these
/// features: a message of the feature's, or an RDMA_ERROR. Nothing where the message is another, or is an answer itself.
[[nodiscard]] std::optional<Header> answer_to_option(const Decoded &message, const Features &features);

} // namespace peer
