// SPDX-License-Identifier: GPL-2.0-only
//
/// A service under test, and what its Replies say.
#pragma once

#include <gtest/gtest.h>

#include "nfs/nfs.hh"
#include "service/service.hh"

namespace peer {

inline constexpr std::uint32_t NOENT = 2;
inline constexpr std::uint32_t EXIST = 17;
inline constexpr std::uint32_t NOTDIR = 20;
inline constexpr std::uint32_t ISDIR = 21;
inline constexpr std::uint32_t INVAL = 22;
inline constexpr std::uint32_t FBIG = 27;
inline constexpr std::uint32_t NOTEMPTY = 66;
inline constexpr std::uint32_t STALE = 70;
inline constexpr std::uint32_t BADHANDLE = 10001;
inline constexpr std::uint32_t TOOSMALL = 10005;
inline constexpr std::uint32_t MINOR_VERS_MISMATCH = 10021;
inline constexpr std::uint32_t STALE_CLIENTID = 10022;
inline constexpr std::uint32_t BADXDR = 10036;
inline constexpr std::uint32_t BADSESSION = 10052;
inline constexpr std::uint32_t SEQ_MISORDERED = 10063;
inline constexpr std::uint32_t OP_NOT_IN_SESSION = 10071;

inline constexpr std::uint64_t CONNECTION = 1;

inline Bytes numbers(std::size_t length)
{
	Bytes bytes(length);
	for (std::size_t i = 0; i < length; i++)
		bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
	return bytes;
}

// A stream without its items, and what was in them.
struct Reduced {
	Bytes stream;
	Bytes data;
};

inline Reduced reduce(const Payload &whole)
{
	Reduced reduced = {.stream = whole.stream, .data = {}};
	for (std::size_t i = whole.items.size(); i-- > 0;) {
		const Item &item = whole.items[i];
		const auto first = reduced.stream.begin() + static_cast<std::ptrdiff_t>(item.offset);
		reduced.data.insert(reduced.data.begin(), first, first + static_cast<std::ptrdiff_t>(item.length));
		reduced.stream.erase(first, first + static_cast<std::ptrdiff_t>(item.length + roundup_of(item.length)));
	}
	return reduced;
}

class ServiceTest : public testing::Test {
    protected:
	NfsResult ask(const NfsCall &call)
	{
		last = service.serve(call.call.stream, CONNECTION);
		EXPECT_LE(last.reply.stream.size(), call.longest_reply) << call.name;
		for (const Item &item : call.call.items)
			check_item(call.call.stream, item);
		for (const Item &item : last.reply.items) {
			check_item(last.reply.stream, item);
			EXPECT_LE(item.length, call.longest_item) << call.name;
		}
		const Reduced reduced = reduce(last.reply);
		if (!reduced.data.empty()) {
			EXPECT_EQ(call.rebuild(reduced.stream, reduced.data), last.reply.stream) << call.name;
		}
		const NfsResult result = call.read(last.reply.stream);
		EXPECT_EQ(result.xid, XdrReader(call.call.stream).u32("xid"));
		return result;
	}

	NfsResult succeed(const NfsCall &call)
	{
		const NfsResult result = ask(call);
		EXPECT_TRUE(result.accepted) << call.name;
		EXPECT_EQ(result.rpc_status, RPC_SUCCESS) << call.name;
		EXPECT_EQ(result.status, 0U) << call.name;
		return result;
	}

	void expect_served(const std::string &operation, const std::string &path) const
	{
		EXPECT_EQ(last.operation, operation);
		EXPECT_EQ(last.path, path);
	}

	// A DDP-eligible item: its length word stands before it.
	static void check_item(const Bytes &stream, const Item &item)
	{
		ASSERT_GE(item.offset, 4U);
		ASSERT_LE(item.offset + item.length + roundup_of(item.length), stream.size());
		EXPECT_EQ(XdrReader(ByteView(stream).subspan(item.offset - 4)).u32("length"), item.length);
	}

	std::uint32_t xid() { return ++xid_; }

	Tree tree;
	Service service{tree};
	Served last;

    private:
	std::uint32_t xid_ = 0;
};

// Programs and versions

} // namespace peer
