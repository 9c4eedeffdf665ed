// SPDX-License-Identifier: GPL-2.0-only
//
// Keeps the messages of a case for its report.

#pragma once

#include <optional>
#include <string>

#include "codec/xdr.hh"
#include "report/report.hh"
#include "verbs/verbs.hh"

namespace peer {

class Recorder {
    public:
	/// So many from the beginning of a case, and so many from its end, are kept.
	static constexpr std::size_t FIRST = 20;
	static constexpr std::size_t LAST = 80;

	/// The result outlives this.
	explicit Recorder(CaseResult &result);

	/// A message that this end has sent, or that has come.
	void note(const std::string &connection, bool is_sent, ByteView message,
		  std::optional<std::uint32_t> invalidates = std::nullopt);

    private:
	CaseResult &result_;
	Clock::time_point begun_ = Clock::now();
};

} // namespace peer
