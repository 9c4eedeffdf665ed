// SPDX-License-Identifier: GPL-2.0-only
//
// A file that results are written to.

#pragma once

#include <fstream>
#include <string>

namespace peer {

/// Open from the beginning, so that nothing is done in vain. Without a name, what is written is lost.
class OutputFile {
    public:
	/// Throws CLI::ValidationError, which names the option, where it cannot be written.
	OutputFile(const std::string &option, const std::string &name, std::ios::openmode mode = std::ios::trunc);

	[[nodiscard]] bool is_wanted() const noexcept { return !name_.empty(); }
	[[nodiscard]] std::ostream &stream() noexcept { return file_; }

	/// False, after saying so, where something has not been written.
	[[nodiscard]] bool finish();

    private:
	std::string name_;
	std::ofstream file_;
};

} // namespace peer
