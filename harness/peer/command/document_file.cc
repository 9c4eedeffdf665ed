// SPDX-License-Identifier: GPL-2.0-only

#include "command/document_file.hh"

#include <iostream>

#include <CLI/CLI.hpp>

namespace peer {

namespace {

Template checked(const std::string &option, const std::string &file, const std::string &name)
{
	const Template found = {.directory = PEER_TEMPLATES, .name = name};
	try {
		if (!file.empty())
			found.check();
	} catch (const RenderError &error) {
		throw CLI::ValidationError(option, error.what());
	}
	return found;
}

} // namespace

DocumentFile::DocumentFile(const std::string &option, const std::string &name, const std::string &template_name)
	: DocumentFile(option, name, checked(option, name, template_name))
{
}

DocumentFile::DocumentFile(const std::string &option, const std::string &name, Template checked)
	: OutputFile(option, name)
	, option_(option)
	, template_(std::move(checked))
{
}

void DocumentFile::write(const View &view)
{
	if (!is_wanted())
		return;
	try {
		stream() << template_.render(view);
	} catch (const RenderError &error) {
		std::cerr << "rpcordma-peer: " << option_ << ": " << error.what() << '\n';
		stream().setstate(std::ios::failbit);
	}
}

} // namespace peer
