// SPDX-License-Identifier: GPL-2.0-only

#include "nfs/path.hh"

#include <algorithm>

namespace peer {

std::vector<std::string> parts_of(const std::string &path)
{
	std::vector<std::string> parts;
	for (std::size_t at = 0; at < path.size();) {
		const std::size_t slash = std::min(path.find('/', at), path.size());
		if (slash > at)
			parts.push_back(path.substr(at, slash - at));
		at = slash + 1;
	}
	return parts;
}

} // namespace peer
