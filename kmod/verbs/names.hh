/* SPDX-License-Identifier: GPL-2.0-only */
/* What is decided about messages and connections, in the words of trace events and of the log. Administrators filter by
 * these words and scripts look for them: they stay as they are (Documentation/administration.rst). */
#pragma once

#include "proto/arrival.hh"
#include "proto/assembly.hh"
#include "proto/connection.hh"
#include "proto/credits.hh"
#include "proto/received.hh"
#include "proto/reply.hh"
#include "proto/response.hh"
#include "proto/transfer.hh"

namespace rpcordma::verbs {

[[nodiscard]] const char *name_of(proto::ReplyError error) noexcept;
[[nodiscard]] const char *name_of(proto::PlacementError error) noexcept;
[[nodiscard]] const char *name_of(proto::PlanError error) noexcept;
[[nodiscard]] const char *name_of(proto::Dropped reason) noexcept;
[[nodiscard]] const char *name_of(proto::Grant grant) noexcept;
[[nodiscard]] const char *name_of(proto::ConnectOutcome outcome) noexcept;
[[nodiscard]] const char *name_of(proto::CallTransfer transfer) noexcept;
[[nodiscard]] const char *name_of(proto::ReplyRoom room) noexcept;
[[nodiscard]] const char *name_of(proto::Ignored reason) noexcept;
[[nodiscard]] const char *name_of(proto::Refusal error) noexcept;
[[nodiscard]] const char *name_of(proto::CallError error) noexcept;
[[nodiscard]] const char *name_of(proto::CallShape shape) noexcept;
[[nodiscard]] const char *name_of(proto::ReplyTransfer transfer) noexcept;
[[nodiscard]] const char *name_of(proto::ReplyPlanError error) noexcept;

} // namespace rpcordma::verbs
