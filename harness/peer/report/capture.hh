// SPDX-License-Identifier: GPL-2.0-only
//
// The messages of cases as a capture that Wireshark reads.

#pragma once

#include <iosfwd>
#include <vector>

#include "report/report.hh"

namespace peer {

/// A pcapng file with the messages of these cases, as Sends of RoCE version 2 between made-up addresses: 192.0.2.1 is the
/// tester, 192.0.2.2 what is tested. Each connection has queue pairs of its own, and each packet the name of its case as a
/// comment. A case begins when the last message of the one before came. What was no Send is not there.
void write_capture(std::ostream &out, const std::vector<CaseResult> &results);

} // namespace peer
