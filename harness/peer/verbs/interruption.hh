// SPDX-License-Identifier: GPL-2.0-only
//
// Signals that ask the program to end, as an exception where it waits: what it holds is released in order.

#pragma once

#include <array>
#include <csignal>
#include <exception>

namespace peer {

/// Somebody wants the program to end. This is no error, and nobody takes it for one.
class Interrupted : public std::exception {
    public:
	explicit Interrupted(int signal) noexcept
		: signal(signal)
	{
	}

	/// "SIGINT".
	[[nodiscard]] const char *what() const noexcept override;

	int signal;
};

/// While it exists, SIGINT, SIGTERM or SIGHUP makes wait_for_any() throw Interrupted, once, so that whoever releases things can
/// wait again. A second signal ends the program at once. A signal that was ignored before still is. One thread waits.
class Interruption {
    public:
	Interruption();
	~Interruption();
	Interruption(const Interruption &) = delete;
	Interruption &operator=(const Interruption &) = delete;

    private:
	static constexpr std::array SIGNALS = {SIGINT, SIGTERM, SIGHUP};

	std::array<struct sigaction, SIGNALS.size()> before_{};
};

/// A file descriptor that is readable once there is a signal to throw for; negative without an Interruption.
[[nodiscard]] int interruption_descriptor() noexcept;
/// Throws Interrupted where a signal has come that has not been thrown for.
void throw_if_interrupted();

} // namespace peer
