// SPDX-License-Identifier: GPL-2.0-only
//
// A shell command that runs beside this process: a client under test, as --exec names it.

#pragma once

#include <string>

#include <sys/types.h>

namespace peer {

/// Ended by SIGTERM, with all that it has started, when this goes.
class Companion {
    public:
	Companion() = default;
	Companion(const Companion &) = delete;
	Companion &operator=(const Companion &) = delete;
	~Companion();

	/// Starts it, where none runs. Throws std::runtime_error.
	void start(const std::string &command);
	/// Whether none runs.
	[[nodiscard]] bool ended();

    private:
	::pid_t process_ = 0;
};

} // namespace peer
