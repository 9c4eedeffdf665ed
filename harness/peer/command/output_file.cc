// SPDX-License-Identifier: GPL-2.0-only

#include "command/output_file.hh"

#include <cerrno>
#include <cstring>
#include <iostream>

#include <CLI/CLI.hpp>

namespace peer {

OutputFile::OutputFile(const std::string &option, const std::string &name, std::ios::openmode mode)
	: name_(name)
{
	if (name.empty())
		return;
	file_.open(name, std::ios::out | mode);
	if (!file_)
		throw CLI::ValidationError(option, name + " cannot be written: " + std::strerror(errno));
}

bool OutputFile::finish()
{
	if (!is_wanted() || file_.flush())
		return true;
	std::cerr << "rpcordma-peer: " << name_ << " could not be written to its end\n";
	return false;
}

} // namespace peer
