// SPDX-License-Identifier: GPL-2.0-only
//
// How specifications, their sections and their requirements are called, and where they can be read.

#pragma once

#include <string>

namespace peer {

/// A section as requirements.txt has it: "8166-3.4.5", of a case's "RFC 8166, 3.4.5".
[[nodiscard]] std::string section_identifier(const std::string &section);
/// Where a section, or the section of a requirement, is on the web: of "8166-3.4.5" and "8166-3.4.5-2". Empty where the
/// document is not known.
[[nodiscard]] std::string url_of(const std::string &identifier);

} // namespace peer
