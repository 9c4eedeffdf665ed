// SPDX-License-Identifier: GPL-2.0-only
/// Runs a fuzzer's function once for each file in the directories that are named: to count what a corpus executes.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/fuzz/require.hh"

int main(int argc, char **argv)
{
	std::size_t inputs = 0;
	for (int i = 1; i < argc; i++) {
		for (const auto &entry : std::filesystem::directory_iterator(argv[i])) {
			std::ifstream file(entry.path(), std::ios::binary);
			const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
			LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size());
			inputs++;
		}
	}
	return inputs > 0 ? 0 : 1;
}
