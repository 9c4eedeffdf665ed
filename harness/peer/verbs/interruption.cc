// SPDX-License-Identifier: GPL-2.0-only

#include "verbs/interruption.hh"

#include <cerrno>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace peer {

namespace {

// Holds the number of a signal that nothing has been thrown for.
int descriptor = -1;

// Only what a handler of signals may do. The next signal finds its usual action, whatever waits then.
void note(int signal)
{
	const int error = errno;
	for (const int other : {SIGINT, SIGTERM, SIGHUP})
		std::signal(other, SIG_DFL);
	eventfd_write(descriptor, static_cast<eventfd_t>(signal));
	errno = error;
}

} // namespace

const char *Interrupted::what() const noexcept
{
	switch (signal) {
	case SIGINT:
		return "SIGINT";
	case SIGTERM:
		return "SIGTERM";
	case SIGHUP:
		return "SIGHUP";
	}
	return "a signal";
}

Interruption::Interruption()
{
	descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (descriptor < 0)
		throw std::system_error(errno, std::generic_category(), "an eventfd cannot be made");
	struct sigaction action = {};
	action.sa_handler = note;
	action.sa_flags = SA_RESTART;
	for (std::size_t i = 0; i < SIGNALS.size(); i++) {
		sigaction(SIGNALS[i], nullptr, &before_[i]);
		if (before_[i].sa_handler != SIG_IGN)
			sigaction(SIGNALS[i], &action, nullptr);
	}
}

Interruption::~Interruption()
{
	for (std::size_t i = 0; i < SIGNALS.size(); i++)
		sigaction(SIGNALS[i], &before_[i], nullptr);
	close(descriptor);
	descriptor = -1;
}

int interruption_descriptor() noexcept
{
	return descriptor;
}

void throw_if_interrupted()
{
	eventfd_t signal = 0;
	if (descriptor >= 0 && eventfd_read(descriptor, &signal) == 0)
		throw Interrupted(static_cast<int>(signal));
}

} // namespace peer
