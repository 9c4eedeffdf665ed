// SPDX-License-Identifier: GPL-2.0-only
//
// A file that a template makes the content of.

#pragma once

#include "command/output_file.hh"
#include "report/renderer.hh"

namespace peer {

/// Like OutputFile. Whether the template can be used is found out before the file is opened.
class DocumentFile : public OutputFile {
    public:
	/// Throws CLI::ValidationError, which names the option, also where no document could be made.
	DocumentFile(const std::string &option, const std::string &name, const std::string &template_name);

	/// Writes what the template makes of the view. Says why where it makes nothing; finish() is false then.
	void write(const View &view);

    private:
	DocumentFile(const std::string &option, const std::string &name, Template checked);

	std::string option_;
	Template template_;
};

} // namespace peer
