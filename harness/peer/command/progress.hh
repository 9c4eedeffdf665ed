// SPDX-License-Identifier: GPL-2.0-only
//
// How far a run has come, for whoever watches it.

#pragma once

#include <chrono>
#include <ostream>
#include <string>

namespace peer {

/// "12 of 300: server/null, about 3 min left". Nothing is said of the time while hardly anything is known of it.
[[nodiscard]] std::string progress_text(std::size_t number, std::size_t all, const std::string &name,
					std::chrono::duration<double> elapsed);

/// The last line of a terminal, below what is printed otherwise.
class Progress {
    public:
	/// Cases so many; on a terminal so wide, or nowhere where that is zero.
	Progress(std::ostream &out, std::size_t all, std::size_t width);
	~Progress();
	Progress(const Progress &) = delete;
	Progress &operator=(const Progress &) = delete;

	/// The next case begins.
	void begin(const std::string &name);
	/// The one of that number begins, where they are not told one by one.
	void at(std::size_t number, const std::string &name);
	/// Takes the line away, before anything else is printed.
	void clear();

    private:
	std::ostream &out_;
	std::size_t all_;
	std::size_t width_;
	std::size_t begun_ = 0;
	std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

} // namespace peer
