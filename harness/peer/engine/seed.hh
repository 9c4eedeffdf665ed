// SPDX-License-Identifier: GPL-2.0-only
//
// What is another one in each run: XIDs. All of them follow from one number.

#pragma once

#include <cstdint>

namespace peer {

/// Has XIDs follow from this number, in the place of one that is chosen at random. Before the first of them is used.
void set_seed(std::uint32_t seed) noexcept;
/// The number that they follow from.
[[nodiscard]] std::uint32_t seed();
/// An XID to count on from: another one for each connection. Those of one seed are the same in each run.
[[nodiscard]] std::uint32_t first_xid();

} // namespace peer
