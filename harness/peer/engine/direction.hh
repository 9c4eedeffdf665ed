// SPDX-License-Identifier: GPL-2.0-only
//
// Which way a message goes. Version 2 says it in the header; in version 1 the RPC message does.

#pragma once

#include <optional>
#include <string>

#include "codec/header.hh"

namespace peer {

/// Whether it is an RPC Call, in a message or in a chunk, for all that can be told without the chunk.
[[nodiscard]] bool is_call_message(const Decoded &message) noexcept;

/// What is wrong where the header names another direction than the RPC message in the message has (draft-cel-nfsv4-
/// rpcrdma-version-two-01, 4.2.2); nothing where they agree, or where there is only one of them.
[[nodiscard]] std::optional<std::string> direction_fault(const Decoded &message);

} // namespace peer
