// SPDX-License-Identifier: GPL-2.0-only
/// Writes the fuzzers' seeds, made from the vectors:  seeds DIRECTORY
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/vectors/rpcrdma_v1.hh"
#include "harness/vectors/rpcrdma_v2.hh"

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

Seed with_bytes(Seed seed, std::initializer_list<std::uint8_t> more)
{
	seed.insert(seed.end(), more);
	return seed;
}

/// A Call, and what FuzzedDataProvider takes from the end: room for 64 KiB.
Seed with_limits(const Seed &message)
{
	return with_bytes(message, {0, 0, 0, 1});
}

/// A message, and what it is taken for an answer to: a Call of 1000 bytes, a Reply of 5000, thresholds of 1024, chunks as
/// they are needed.
Seed with_reverse_call(const Seed &message)
{
	return with_bytes(message, {1, 1, 4, 0, 1, 4, 0, 1, 0x13, 0x88, 2, 3, 0xe8, 1});
}

/// A verifier and the arguments of a WRITE, and what FuzzedDataProvider takes from the end: the procedure, the version and
/// the program.
void add_arguments(const std::filesystem::path &directory)
{
	constexpr std::uint32_t write_of_nfs_3[] = {0, 0, 8, 0x11111111, 0x22222222, 0, 0, 4, 0, 4, 0x33333333};
	constexpr std::uint32_t compound_with_a_write[] = {
		0,  0, //
		0,  1, 2, // no tag, two operations
		22, 8, 0x11111111, 0x22222222, // PUTFH
		38, 1, 2,	   3,	       4, 0, 0, 2, 4, 0x33333333, // WRITE
	};
	const Corpus eligibility(directory, "eligibility");
	eligibility.add("WriteOfNfs3", with_bytes(on_wire(write_of_nfs_3), {0, 1, 2, 0}));
	eligibility.add("CompoundWithAWrite", with_bytes(on_wire(compound_with_a_write), {0, 0, 3, 0}));
}

/// Chunk lists, and what FuzzedDataProvider takes from the end: items of some sizes, 1024 bytes in a message, a Reply of 512 bytes.
Seed with_reply(Seed chunks)
{
	constexpr std::uint8_t items = 40;
	for (std::uint8_t i = 0; i < items; ++i)
		chunks.push_back(static_cast<std::uint8_t>(i * 5));
	return with_bytes(chunks, {items, 0, 4, 2, 0, 2, 2});
}

/// Calls whose chunks a responder has to put together.
void add_calls(const std::filesystem::path &directory)
{
	constexpr std::uint32_t item[] = {
		0xfeedbeef, 1,	32,	    0, //
		1,	    40, 0x11111111, 9,	    0, 0x1000, //
		0,	    0,	0, //
		0xfeedbeef, 0,	2,	    100003, 4, 0,      0, 0, 0, 0, 7, 8, //
	};
	constexpr std::uint32_t item_in_the_header[] = {
		0xfeedbeef, 1, 32,	   0, //
		1,	    8, 0x11111111, 9,	   0, 0x1000, //
		0,	    0, 0, //
		0xfeedbeef, 0, 2,	   100003, 4, 0,      0, 0, 0, 0, 7, 8, //
	};
	constexpr std::uint32_t items[] = {
		0xfeedbeef, 1,	32,	    0, //
		1,	    56, 0x22222222, 8,	    0, 0x2000, //
		1,	    40, 0x11111111, 9,	    0, 0x1000, //
		1,	    56, 0x22222222, 5,	    0, 0x3000, //
		0,	    0,	0, //
		0xfeedbeef, 0,	2,	    100003, 4, 0,      0, 0, 0, 0, 7, 8, //
	};
	constexpr std::uint32_t long_call_with_items[] = {
		0xfeedbeef, 1,	32,	    1, //
		1,	    0,	0x11111111, 30, 0,	    0x1000, //
		1,	    24, 0x22222222, 8,	0,	    0x2000, //
		1,	    0,	0x11111111, 60, 0,	    0x3000, //
		1,	    64, 0x33333333, 3,	0,	    0x4000, //
		0,	    0,	1,	    1,	0x44444444, 100,    0, 0x5000, //
	};
	const Corpus arrival(directory, "arrival");
	arrival.add("Item", with_limits(on_wire(item)));
	arrival.add("ItemInTheHeader", with_limits(on_wire(item_in_the_header)));
	arrival.add("Items", with_limits(on_wire(items)));
	arrival.add("LongCallWithItems", with_limits(on_wire(long_call_with_items)));
	constexpr std::uint32_t item_in_version_two[] = {
		0xfeedbeef, 2, 32, 0, //
		0,	    1, 40, 0x11111111, 9, 0, 0x1000, //
		0,	    0, 0, //
		0xfeedbeef, 0, 2,  100003,     4, 0, 0,	     0, 0, 0, 7, 8, //
	};
	arrival.add("TwoItem", with_limits(on_wire(item_in_version_two)));
}

void add_messages(const std::filesystem::path &directory)
{
	const Corpus message(directory, "message");
	const Corpus received(directory, "received");
	const Corpus reply(directory, "reply");
	const Corpus arrival(directory, "arrival");
	const Corpus reverse(directory, "reverse");
	const Corpus agreement(directory, "agreement");
	const auto add = [&](const std::string &name, const Seed &seed) {
		message.add(name, seed);
		agreement.add(name, seed);
		received.add(name, seed);
		reply.add(name, with_offer(seed));
		arrival.add(name, with_limits(seed));
		reverse.add(name, with_reverse_call(seed));
	};
	for (const auto &vector : vectors::message_vectors)
		add(vector.name, on_wire(vector.words));
	for (const auto &vector : vectors::malformed_vectors)
		add(vector.name, on_wire(vector.words));
	const std::string two = "Two";
	for (const auto &vector : vectors::v2::message_vectors)
		add(two + vector.name, on_wire(vector.words));
	for (const auto &vector : vectors::v2::malformed_vectors) {
		Seed seed = on_wire(vector.words);
		seed.resize(seed.size() - vector.cut);
		add(two + vector.name, seed);
	}
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	const std::filesystem::path directory = argv[1];
	add_messages(directory);
	add_calls(directory);
	add_arguments(directory);
	const Corpus chunks(directory, "chunks");
	const Corpus response(directory, "response");
	for (const auto &vector : vectors::chunk_vectors) {
		chunks.add(vector.name, on_wire(vector.words));
		response.add(vector.name, with_reply(on_wire(vector.words)));
	}
	const Corpus private_data(directory, "private_data");
	const Corpus agreement(directory, "agreement");
	for (const auto &vector : vectors::private_data_vectors) {
		private_data.add(vector.name, Seed(vector.bytes.begin(), vector.bytes.end()));
		agreement.add(vector.name, Seed(vector.bytes.begin(), vector.bytes.end()));
	}
	// These have no vectors: numbers are all that they take.
	Corpus(directory, "transfer").add("Zeroes", Seed(200));
	Corpus(directory, "segmenting").add("Zeroes", Seed(40));
	Corpus(directory, "connection").add("Ones", Seed(100, 1));
	const Corpus negotiation(directory, "negotiation");
	negotiation.add("Ones", Seed(100, 1));
	/* Most of them say yes where there is a choice, so that it goes on to the end. */
	Seed counted;
	for (std::uint8_t n = 0; n < 250; ++n)
		counted.push_back(n | 1);
	negotiation.add("Counted", counted);
	return 0;
}
