// SPDX-License-Identifier: GPL-2.0-only
//
// Documents that templates make of views. A program in Python does that, "render" in the templates' directory, with Jinja2.

#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include "report/view.hh"

namespace peer {

/// A document cannot be made; the text says why, and what to do about it.
class RenderError : public std::runtime_error {
	using runtime_error::runtime_error;
};

/// One of the templates in a directory.
struct Template {
	std::filesystem::path directory;
	std::string name; // "report.html"

	/// Throws RenderError where nothing could be made of it, whatever the view.
	void check() const;
	/// What it makes of a view. Throws RenderError. A terminal's Ctrl-C does not disturb it.
	[[nodiscard]] std::string render(const View &view) const;
};

} // namespace peer
