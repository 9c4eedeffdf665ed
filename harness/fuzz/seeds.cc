// SPDX-License-Identifier: GPL-2.0-only
/// Writes the fuzzers' seeds, made from the vectors:  seeds DIRECTORY
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/vectors/rpcrdma_v1.hh"

using namespace rpcordma;

namespace {

using Seed = std::vector<std::uint8_t>;

Seed on_wire(vectors::Words words)
{
	Seed bytes;
	for (const std::uint32_t word : words) {
		for (int shift = 24; shift >= 0; shift -= 8)
			bytes.push_back(static_cast<std::uint8_t>(word >> shift));
	}
	return bytes;
}

class Corpus {
    public:
	Corpus(const std::filesystem::path &directory, const char *target)
		: directory_(directory / target)
	{
		std::filesystem::create_directories(directory_);
	}
	void add(const std::string &name, const Seed &seed) const
	{
		std::ofstream file(directory_ / name, std::ios::binary);
		file.write(reinterpret_cast<const char *>(seed.data()), static_cast<std::streamsize>(seed.size()));
	}

    private:
	std::filesystem::path directory_;
};

/// What FuzzedDataProvider takes from the end: the offer is what is returned, each segment 200 bytes longer.
Seed with_offer(Seed message)
{
	message.insert(message.end(), 10, 200);
	message.push_back(1);
	return message;
}

void add_messages(const std::filesystem::path &directory)
{
	const Corpus message(directory, "message");
	const Corpus received(directory, "received");
	const Corpus reply(directory, "reply");
	const auto add = [&](const char *name, vectors::Words words) {
		message.add(name, on_wire(words));
		received.add(name, on_wire(words));
		reply.add(name, with_offer(on_wire(words)));
	};
	for (const auto &vector : vectors::message_vectors)
		add(vector.name, vector.words);
	for (const auto &vector : vectors::malformed_vectors)
		add(vector.name, vector.words);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	const std::filesystem::path directory = argv[1];
	add_messages(directory);
	const Corpus chunks(directory, "chunks");
	for (const auto &vector : vectors::chunk_vectors)
		chunks.add(vector.name, on_wire(vector.words));
	const Corpus private_data(directory, "private_data");
	for (const auto &vector : vectors::private_data_vectors)
		private_data.add(vector.name, Seed(vector.bytes.begin(), vector.bytes.end()));
	// These two have no vectors: sizes are all that they take.
	Corpus(directory, "transfer").add("Zeroes", Seed(200));
	Corpus(directory, "segmenting").add("Zeroes", Seed(40));
	return 0;
}
