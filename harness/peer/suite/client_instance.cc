// SPDX-License-Identifier: GPL-2.0-only

#include "suite/client_instance.hh"

#include <algorithm>
#include <map>
#include <sstream>

#include "suite/client_script.hh"
#include "suite/client_suite.hh"
#include "suite/export.hh"

namespace peer {

namespace {

// What POSIX's cksum prints for these bytes, without their number.
std::uint32_t posix_cksum(ByteView bytes)
{
	std::uint32_t sum = 0;
	const auto shift_in = [&sum](std::uint8_t byte) {
		sum ^= std::uint32_t{byte} << 24;
		for (int bit = 0; bit < 8; bit++)
			sum = sum & 0x80000000 ? sum << 1 ^ 0x04c11db7 : sum << 1;
	};
	for (const std::uint8_t byte : bytes)
		shift_in(byte);
	for (std::size_t length = bytes.size(); length > 0; length >>= 8)
		shift_in(static_cast<std::uint8_t>(length));
	return ~sum;
}

} // namespace

std::string cksum_line(ByteView bytes)
{
	return std::to_string(posix_cksum(bytes)) + " " + std::to_string(bytes.size());
}

Bytes line_of(char letter, std::size_t length)
{
	Bytes line(length, static_cast<std::uint8_t>(letter));
	line.push_back('\n');
	return line;
}

Bytes acl_of(std::size_t entries)
{
	XdrWriter xdr;
	xdr.u32(static_cast<std::uint32_t>(entries));
	for (std::size_t i = 0; i < entries; i++) {
		xdr.u32(0);
		xdr.u32(0);
		xdr.u32(0x1601ff);
		xdr.string("EVERYONE@");
	}
	return xdr.take();
}

namespace {

Instance instance_of(const Case &test, std::uint64_t value, unsigned time, unsigned times)
{
	Instance instance = {.test = &test, .value = value, .name = test.name.substr(test.name.find('/') + 1)};
	if (times > 1)
		instance.described = time_text(time, times);
	if (time > 1)
		instance.name += ".again-" + std::to_string(time);
	if (test.variable.empty())
		return instance;
	instance.name += "." + std::to_string(value);
	instance.described += test.variable.substr(1) + " = " + std::to_string(value) + ": ";
	return instance;
}

} // namespace

std::vector<Instance> instances_of(const std::vector<Case> &cases, unsigned repeat)
{
	std::vector<Instance> instances;
	for (const Case &test : cases) {
		if (test.operation.empty())
			throw ScriptError(test.name + ": a case for clients has a line \"client OPERATION [SIZE]\"");
		for (unsigned time = 1; time <= repeat; time++)
			for (const std::uint64_t value : test.values)
				instances.push_back(instance_of(test, value, time, repeat));
	}
	return instances;
}

std::optional<ClientResult> parse_result(const Bytes &content)
{
	const std::string text(content.begin(), content.end());
	const std::string_view end = "\nend\n";
	if (!text.ends_with(end))
		return std::nullopt;
	std::istringstream in(text.substr(0, text.size() - end.size()));
	ClientResult result;
	std::string line;
	std::getline(in, line);
	result.status = std::atoi(line.c_str());
	for (std::string *const sum : {&result.read, &result.good}) {
		std::getline(in, line);
		*sum = line.substr(0, line.rfind(' ')); // without the name
	}
	while (std::getline(in, line))
		result.output += (result.output.empty() ? "" : "\n") + line;
	return result;
}

void furnish(Tree &tree, const std::vector<Instance> &instances)
{
	const auto bytes = [](const std::string &text) { return Bytes(text.begin(), text.end()); };
	tree.put("run", Bytes(client_script().begin(), client_script().end())).mode = 0755;
	tree.put("source", pattern(0, SOURCE_SIZE, 1));
	tree.put("good", pattern(0, 8192, 2));
	tree.put_directory("results");
	std::map<std::string, std::string> lists;
	for (const Instance &instance : instances) {
		const std::string directory = "cases/" + instance.name + "/";
		const std::string &operation = instance.test->operation[0];
		tree.put(directory + "data", pattern(0, std::max(DATA_SIZE, instance.size()), 3));
		if (operation == "write")
			tree.put(directory + "new", Bytes(instance.size()));
		if (operation == "rename")
			tree.put(directory + "old", Bytes());
		if (operation == "readlink" || operation == "killed")
			tree.put_link(directory + "link", std::string(instance.link_length(), 'l'));
		if (operation == "list")
			for (std::size_t i = 0; i < std::min<std::size_t>(instance.size(), LONGEST_LIST); i++)
				tree.put(directory + "directory/a-name-that-takes-some-room-" + std::to_string(i),
					 Bytes());
		lists[instance.test->version] += instance.name + " " + operation + " " +
						 std::to_string(instance.size()) + " " +
						 std::to_string(instance.test->protocol) + "\n";
	}
	for (const char *const version : {"3", "4.1"})
		tree.put(std::string("list.") + version, bytes(lists[version]));
}

} // namespace peer
