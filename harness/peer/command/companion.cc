// SPDX-License-Identifier: GPL-2.0-only

#include "command/companion.hh"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

namespace peer {

Companion::~Companion()
{
	if (!ended())
		::kill(-process_, SIGTERM);
}

void Companion::start(const std::string &command)
{
	process_ = ::fork();
	if (process_ < 0)
		throw std::runtime_error(std::string("no process for --exec: ") + std::strerror(errno));
	// By both, because nobody knows who comes first.
	::setpgid(process_, process_);
	if (process_ > 0)
		return;
	::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
	::_exit(127);
}

bool Companion::ended()
{
	if (process_ > 0 && ::waitpid(process_, nullptr, WNOHANG) == process_)
		process_ = 0;
	return process_ <= 0;
}

} // namespace peer
