// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "proto/eligibility.hh"

namespace rpcordma::unit {
namespace {

using proto::Eligibility;
using Values = std::vector<std::uint32_t>;

constexpr std::uint32_t nfs = 100003;
constexpr std::uint32_t no_credential[]{0, 0, 0, 0};
/// AUTH_SYS: stamp, name, user, group, no further groups.
constexpr std::uint32_t user[]{1, 20, 9, 0, 0, 0, 0, 0, 0};
/// A handle of five bytes.
constexpr std::uint32_t handle[]{5, 0x01020304, 0x05000000};
/// Of version 2.
constexpr std::uint32_t old_handle[]{1, 2, 3, 4, 5, 6, 7, 8};
constexpr std::uint32_t size_of_data = 8192;

Values joined(std::initializer_list<vectors::Words> parts)
{
	Values all;
	for (const vectors::Words part : parts)
		all.insert(all.end(), part.begin(), part.end());
	return all;
}

/// The header of an RPC Call.
Values call(std::uint32_t program, std::uint32_t version, std::uint32_t procedure, vectors::Words credential = user)
{
	const std::uint32_t front[]{7, 0, 2, program, version, procedure};
	return joined({front, credential});
}

/// Version 1, RPCSEC_GSS_DATA, sequence number 3, a context of four bytes.
Values gss(std::uint32_t service)
{
	return {6, 24, 1, 0, 3, service, 4, 0xabcd, 6, 4, 0x1234};
}

/// A COMPOUND of so many operations, with a tag of one byte, of minor version 2.
Values compound(std::uint32_t operations, vectors::Words credential = user)
{
	return joined({call(nfs, 4, 1, credential), Values{1, 0x61000000, 2, operations}});
}

constexpr std::uint32_t write3[]{0, 4096, size_of_data, 2, size_of_data};
constexpr std::uint32_t write4[]{38, 1, 2, 3, 4, 0, 4096, 2, size_of_data};
constexpr std::uint32_t put_handle[]{22, 4, 1};

/// Whether an item is that stands behind those words, and in front of these.
bool eligible(std::initializer_list<vectors::Words> before, vectors::Words behind = {})
{
	const Values all = joined(before);
	const Exact bytes(on_wire(joined({all, behind})));
	return Eligibility(bytes).has_argument(all.size() * wire::xdr_unit, size_of_data, Eligibility::Chunk::missing);
}

bool reducible(std::initializer_list<vectors::Words> parts)
{
	const Exact bytes(on_wire(joined(parts)));
	return Eligibility(bytes).may_reduce_results();
}

TEST(Eligible, DataOfWrite_Are)
{
	EXPECT_TRUE(eligible({call(nfs, 2, 8), old_handle, Values{0, 0, 0, size_of_data}}));
	EXPECT_TRUE(eligible({call(nfs, 3, 7), handle, write3}));
	EXPECT_TRUE(eligible({call(nfs, 3, 7, no_credential), handle, write3}));
	EXPECT_TRUE(eligible({compound(2), put_handle, write4}));
	EXPECT_TRUE(eligible({compound(3), put_handle, write4}, Values{9, 1, 24}));
}

TEST(Eligible, TextOfASymbolicLink_Is)
{
	EXPECT_TRUE(eligible({call(nfs, 2, 13), old_handle, handle, Values{900}}));
	/// By whether a mode is set, and a size, and how the times are.
	const Values attributes[] = {
		{0, 0, 0, 0, 0, 0},
		{1, 0777, 1, 9, 1, 9, 1, 0, 5, 1, 1},
		{0, 0, 0, 0, 2, 3, 4, 2, 5, 6},
	};
	for (const Values &these : attributes)
		EXPECT_TRUE(eligible({call(nfs, 3, 10), handle, handle, these, Values{900}}));
	EXPECT_TRUE(eligible({compound(2), put_handle, Values{6, 5, 900}}));
}

TEST(Eligible, OtherArgumentsOfThese_AreNot)
{
	EXPECT_FALSE(eligible({call(nfs, 2, 8)}, old_handle));
	EXPECT_FALSE(eligible({call(nfs, 2, 8), old_handle}, Values{0, 0, 0, 4, 5}));
	EXPECT_FALSE(eligible({call(nfs, 2, 13), old_handle, Values{900}}));
	EXPECT_FALSE(eligible({call(nfs, 3, 7), Values{5}}, write3));
	EXPECT_FALSE(eligible({call(nfs, 3, 7), handle}, write3));
	EXPECT_FALSE(eligible({call(nfs, 3, 7), handle, write3, Values{1}}));
	EXPECT_FALSE(eligible({call(nfs, 3, 10), handle, Values{900}}));
	EXPECT_FALSE(eligible({call(nfs, 3, 10), handle, handle, Values{0, 0, 0, 0, 3, 0, 900}}));
	EXPECT_FALSE(eligible({call(nfs, 3, 10), handle, handle, Values{2, 1, 0, 0, 0, 0, 0, 900}}));
	EXPECT_FALSE(eligible({compound(2), Values{22, 4}}));
	EXPECT_FALSE(eligible({compound(2), put_handle, Values{37, 1, 2, 3, 4, 0, 4096, 2, size_of_data}}));
	for (const std::uint32_t type : {0u, 1u, 2u, 3u, 4u, 6u, 7u, 8u, 99u})
		EXPECT_FALSE(eligible({compound(2), put_handle, Values{6, type, 900}})) << type;
	EXPECT_FALSE(eligible({compound(2), put_handle, Values{7, 5, 900}}));
	EXPECT_FALSE(eligible({compound(1)}));
}

/// A WRITE's offset may be any number.
TEST(Eligible, WhatOnlyLooksLikeAnArgument_IsNot)
{
	EXPECT_FALSE(eligible({compound(2), put_handle, Values{38, 1, 2, 3, 4, 6, 5, 900}}, Values{900}));
	EXPECT_FALSE(eligible({compound(1), Values{22, 4 * 9}, write4}, put_handle));
}

TEST(Eligible, ItemsOfOtherProcedures_AreNot)
{
	EXPECT_FALSE(eligible({call(nfs, 2, 7), old_handle, Values{0, 0, 0, size_of_data}}));
	EXPECT_FALSE(eligible({call(nfs, 3, 8), handle, write3}));
	EXPECT_FALSE(eligible({call(nfs, 4, 0), Values{0, 0, 1}, write4}));
	EXPECT_FALSE(eligible({call(nfs, 1, 8), old_handle, Values{0, 0, 0, size_of_data}}));
	EXPECT_FALSE(eligible({call(nfs, 5, 1), Values{0, 0, 1}, write4}));
	EXPECT_FALSE(eligible({call(100005, 3, 7), handle, write3}));
	EXPECT_FALSE(eligible({call(0x40000000, 1, 1), write4}));
}

TEST(Eligible, NothingIsThatRpcsecGssProtects)
{
	EXPECT_TRUE(eligible({call(nfs, 3, 7, gss(1)), handle, write3}));
	EXPECT_FALSE(eligible({call(nfs, 3, 7, gss(2)), handle, write3}));
	EXPECT_FALSE(eligible({call(nfs, 3, 7, gss(3)), handle, write3}));
}

TEST(Eligible, NothingIsInFrontOfTheArguments)
{
	for (const Values &credential : {Values{1, 0, 0, 0}, gss(1), Values{6, 12, 1, 0, 3, 0, 0}, Values{6, 4, 1},
					 Values{1, 0xffffffff, 0, 0, 0}}) {
		const Values whole = compound(1, credential);
		for (std::size_t size = 0; size <= whole.size(); ++size)
			EXPECT_FALSE(eligible({vectors::Words(whole).first(size)})) << size;
	}
	EXPECT_FALSE(eligible({call(nfs, 4, 1, Values{6, 12, 1, 0, 3})}));
	EXPECT_FALSE(eligible({call(nfs, 4, 1, Values{6, 4, 1})}));
}

struct Operation {
	constexpr Operation(const char *its_name, std::initializer_list<std::uint32_t> its_words)
		: name(its_name)
	{
		for (const std::uint32_t word : its_words)
			words[count++] = word;
	}
	[[nodiscard]] vectors::Words arguments() const { return {words, count}; }

	const char *name;
	std::uint32_t words[20]{};
	std::size_t count = 0;
};

/// Each with all that its arguments can have.
constexpr Operation known[] = {
	{"ACCESS", {3, 1}},
	{"CLOSE", {4, 1, 1, 2, 3, 4}},
	{"COMMIT", {5, 0, 0, 1}},
	{"CREATE_directory", {6, 2, 1, 0x61000000, 1, 2, 4, 5}},
	{"CREATE_block", {6, 3, 8, 1, 1, 0x61000000, 1, 2, 4, 5}},
	{"CREATE_character", {6, 4, 8, 1, 1, 0x61000000, 1, 2, 4, 5}},
	{"CREATE_socket", {6, 6, 1, 0x61000000, 0, 0}},
	{"CREATE_pipe", {6, 7, 1, 0x61000000, 0, 0}},
	{"DELEGPURGE", {7, 1, 2}},
	{"DELEGRETURN", {8, 1, 2, 3, 4}},
	{"GETATTR", {9, 2, 38, 38}},
	{"GETFH", {10}},
	{"LINK", {11, 1, 0x61000000}},
	{"LOCK_of_an_open", {12, 1, 0, 0, 0, 0, 1, 1, 1, 1, 2, 3, 4, 1, 0, 9, 1, 0x61000000}},
	{"LOCK", {12, 1, 0, 0, 0, 0, 1, 0, 1, 2, 3, 4, 1}},
	{"LOCKT", {13, 1, 0, 0, 0, 1, 0, 9, 1, 0x61000000}},
	{"LOCKU", {14, 1, 1, 1, 2, 3, 4, 0, 0, 0, 1}},
	{"LOOKUP", {15, 3, 0x61626300}},
	{"LOOKUPP", {16}},
	{"NVERIFY", {17, 1, 2, 4, 5}},
	{"OPEN", {18, 0, 1, 0, 0, 9, 1, 0x61000000, 0, 0, 1, 0x61000000}},
	{"OPEN_unchecked", {18, 0, 1, 0, 0, 9, 1, 0x61000000, 1, 0, 1, 2, 4, 5, 1, 0}},
	{"OPEN_guarded", {18, 0, 1, 0, 0, 9, 1, 0x61000000, 1, 1, 1, 2, 4, 5, 4}},
	{"OPEN_exclusive", {18, 0, 1, 0, 0, 9, 1, 0x61000000, 1, 2, 7, 7, 3, 1, 0x61000000}},
	{"OPEN_exclusive_4_1", {18, 0, 1, 0, 0, 9, 1, 0x61000000, 1, 3, 7, 7, 1, 2, 4, 5, 6}},
	{"OPEN_of_a_delegation", {18, 0, 1, 0, 0, 9, 1, 0x61000000, 0, 2, 1, 2, 3, 4, 1, 0x61000000}},
	{"OPEN_of_a_handles_delegation", {18, 0, 1, 0, 0, 9, 1, 0x61000000, 0, 5, 1, 2, 3, 4}},
	{"OPENATTR", {19, 1}},
	{"OPEN_CONFIRM", {20, 1, 2, 3, 4, 1}},
	{"OPEN_DOWNGRADE", {21, 1, 2, 3, 4, 1, 1, 1}},
	{"PUTFH", {22, 5, 1, 0x05000000}},
	{"PUTPUBFH", {23}},
	{"PUTROOTFH", {24}},
	{"READ", {25, 1, 2, 3, 4, 0, 0, 4096}},
	{"READDIR", {26, 0, 0, 0, 0, 100, 4096, 2, 38, 38}},
	{"READLINK", {27}},
	{"REMOVE", {28, 1, 0x61000000}},
	{"RENAME", {29, 1, 0x61000000, 1, 0x62000000}},
	{"RENEW", {30, 0, 9}},
	{"RESTOREFH", {31}},
	{"SAVEFH", {32}},
	{"SECINFO", {33, 1, 0x61000000}},
	{"SETATTR", {34, 1, 2, 3, 4, 1, 2, 4, 5}},
	{"SETCLIENTID", {35, 1, 2, 1, 0x61000000, 0x40000000, 1, 0x61000000, 1, 0x61000000, 1}},
	{"SETCLIENTID_CONFIRM", {36, 0, 9, 1, 2}},
	{"VERIFY", {37, 1, 2, 4, 5}},
	{"RELEASE_LOCKOWNER", {39, 0, 9, 1, 0x61000000}},
	{"BIND_CONN_TO_SESSION", {41, 1, 2, 3, 4, 3, 0}},
	{"DESTROY_SESSION", {44, 1, 2, 3, 4}},
	{"FREE_STATEID", {45, 1, 2, 3, 4}},
	{"GET_DIR_DELEGATION", {46, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 8, 1, 8}},
	{"GETDEVICEINFO", {47, 1, 2, 3, 4, 1, 4096, 1, 6}},
	{"GETDEVICELIST", {48, 1, 8, 0, 0, 0, 0}},
	{"LAYOUTCOMMIT", {49, 0, 0, 0, 1, 0, 1, 2, 3, 4, 0, 0, 1, 0}},
	{"LAYOUTCOMMIT_of_more", {49, 0, 0, 0, 1, 0, 1, 2, 3, 4, 1, 0, 9, 1, 0, 1, 0, 1, 4, 5}},
	{"LAYOUTGET", {50, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1, 2, 3, 4, 4096}},
	{"LAYOUTRETURN_of_a_file", {51, 0, 1, 1, 1, 0, 0, 0, 1, 1, 2, 3, 4, 4, 5}},
	{"LAYOUTRETURN_of_all", {51, 0, 1, 1, 3}},
	{"SECINFO_NO_NAME", {52, 0}},
	{"SEQUENCE", {53, 1, 2, 3, 4, 7, 0, 1, 1}},
	{"SET_SSV", {54, 1, 0x61000000, 1, 0x61000000}},
	{"DESTROY_CLIENTID", {57, 0, 9}},
	{"RECLAIM_COMPLETE", {58, 0}},
	{"ALLOCATE", {59, 1, 2, 3, 4, 0, 0, 0, 1}},
	{"DEALLOCATE", {62, 1, 2, 3, 4, 0, 0, 0, 1}},
	{"IO_ADVISE", {63, 1, 2, 3, 4, 0, 0, 0, 1, 1, 8}},
	{"OFFLOAD_CANCEL", {66, 1, 2, 3, 4}},
	{"OFFLOAD_STATUS", {67, 1, 2, 3, 4}},
	{"READ_PLUS", {68, 1, 2, 3, 4, 0, 0, 4096}},
	{"SEEK", {69, 1, 2, 3, 4, 0, 0, 0}},
	{"CLONE", {71, 1, 2, 3, 4, 1, 2, 3, 4, 0, 0, 0, 0, 0, 1}},
	{"GETXATTR", {72, 1, 0x61000000}},
	{"SETXATTR", {73, 1, 1, 0x61000000, 1, 0x61000000}},
	{"LISTXATTRS", {74, 0, 0, 4096}},
	{"REMOVEXATTR", {75, 1, 0x61000000}},
};

TEST(Eligible, DataOfWrite_AreBehindEachKnownOperation)
{
	for (const Operation &operation : known) {
		EXPECT_TRUE(eligible({compound(2), operation.arguments(), write4})) << operation.name;
		EXPECT_FALSE(eligible({compound(1), operation.arguments(), write4})) << operation.name;
		for (std::size_t size = 0; size < operation.count; ++size)
			EXPECT_FALSE(eligible({compound(2), operation.arguments().first(size)}))
				<< operation.name << " " << size;
	}
}

TEST(Eligible, NothingIsBehindAnUnknownOperation)
{
	for (const std::uint32_t operation : {0u, 2u, 40u, 42u, 43u, 55u, 56u, 60u, 61u, 64u, 65u, 70u, 76u, 10044u})
		EXPECT_FALSE(eligible({compound(2), Values{operation}, write4})) << operation;
}

/// A Read chunk, by what stands in front of it since the last and how long it is.
struct Chunk {
	Values before;
	std::uint32_t length;
	bool expected;
};

/// Asks of one after another.
void expect(const std::vector<Chunk> &chunks, Eligibility::Chunk place)
{
	Values all;
	for (const Chunk &chunk : chunks) {
		all.insert(all.end(), chunk.before.begin(), chunk.before.end());
		if (place == Eligibility::Chunk::in_place)
			all.insert(all.end(), chunk.length / wire::xdr_unit, 0x64646464);
	}
	const Exact bytes(on_wire(all));
	Eligibility eligibility(bytes);
	std::uint64_t at = 0;
	for (const Chunk &chunk : chunks) {
		at += chunk.before.size() * wire::xdr_unit;
		EXPECT_EQ(eligibility.has_argument(at, chunk.length, place), chunk.expected) << at;
		if (place == Eligibility::Chunk::in_place)
			at += chunk.length;
	}
}

struct Place {
	const char *name;
	Eligibility::Chunk chunk;
};

constexpr Place places[] = {
	{"Missing", Eligibility::Chunk::missing},
	{"InPlace", Eligibility::Chunk::in_place},
};

class OfChunks : public testing::TestWithParam<Place> {};

INSTANTIATE_TEST_SUITE_P(Chunks, OfChunks, testing::ValuesIn(places), [](const auto &info) { return info.param.name; });

TEST_P(OfChunks, EachMayHoldTheDataOfAWrite)
{
	const Values second(std::begin(write4), std::end(write4));
	expect({{joined({compound(3), put_handle, write4}), size_of_data, true}, {second, size_of_data, true}},
	       GetParam().chunk);
	expect({{joined({compound(2), put_handle, write4}), size_of_data, true}, {second, size_of_data, false}},
	       GetParam().chunk);
}

TEST_P(OfChunks, NoneIsBehindTheOnlyArgument)
{
	const Values operation(std::begin(write4), std::end(write4));
	expect({{joined({call(nfs, 3, 7), handle, write3}), size_of_data, true}, {operation, size_of_data, false}},
	       GetParam().chunk);
}

TEST_P(OfChunks, OneMayGoOnWithTheArgumentOfTheLast)
{
	expect({{joined({compound(2), put_handle, write4}), 4096, true}, {{}, 4096, true}}, GetParam().chunk);
}

TEST_P(OfChunks, NoneGoesOnBehindTheEndOfAnArgument)
{
	expect({{joined({compound(3), put_handle, write4}), size_of_data, true}, {{}, 4096, false}}, GetParam().chunk);
}

TEST_P(OfChunks, WhatNoneHoldsOfAnArgumentIsInTheMessage)
{
	const Values rest(1024, 7);
	expect({{joined({compound(3), put_handle, write4}), 4096, true}, {joined({rest, write4}), size_of_data, true}},
	       GetParam().chunk);
	expect({{joined({compound(3), put_handle, write4}), 4096, true}, {Values{7}, 4096, false}}, GetParam().chunk);
	expect({{joined({compound(3), put_handle, write4, rest, rest, write4}), size_of_data, true}}, GetParam().chunk);
}

TEST(Eligible, ArgumentsBeyondWhatIsKnown_AreNot)
{
	const Values all = joined({compound(3), put_handle, write4, Values{1}});
	const Exact bytes(on_wire(all));
	EXPECT_FALSE(Eligibility(bytes).has_argument((all.size() + 2048) * wire::xdr_unit, 4096,
						     Eligibility::Chunk::in_place));
}

TEST(Results, OfNfs_MayBeReduced)
{
	EXPECT_TRUE(reducible({call(nfs, 2, 6), old_handle, Values{0, size_of_data, 0}}));
	EXPECT_TRUE(reducible({call(nfs, 3, 6), handle, Values{0, 0, size_of_data}}));
	EXPECT_TRUE(reducible({call(nfs, 3, 0)}));
	/// The verifier's flavour, and no more; and its size.
	EXPECT_FALSE(reducible({call(nfs, 3, 0, Values{1, 0, 0})}));
	EXPECT_FALSE(reducible({call(nfs, 3, 0, Values{1, 0, 0, 4})}));
	EXPECT_TRUE(reducible({compound(2), put_handle, Values{25, 1, 2, 3, 4, 0, 0, size_of_data}}));
	EXPECT_TRUE(reducible({compound(2), put_handle, Values{27}}));
	EXPECT_TRUE(reducible({compound(2), put_handle, Values{25, 1, 2, 3, 4, 68, 68, 68}}));
	EXPECT_TRUE(reducible({compound(2), Values{22, 4, 68}, Values{25, 1, 2, 3, 4, 0, 0, size_of_data}}));
	EXPECT_FALSE(reducible({call(100005, 3, 7), handle}));
	EXPECT_FALSE(reducible({call(nfs, 4, 0)}));
	EXPECT_FALSE(reducible({call(nfs, 1, 6)}));
	EXPECT_FALSE(reducible({call(nfs, 5, 1)}));
	EXPECT_FALSE(reducible({Values{7, 0}}));
	EXPECT_FALSE(reducible({call(nfs, 4, 1), Values{1, 0x61000000}}));
	EXPECT_TRUE(reducible({call(nfs, 4, 1), Values{1, 0x61000000, 2}}));
}

TEST(Results, OfReadPlus_AreNot)
{
	const Values read_plus{68, 1, 2, 3, 4, 0, 0, size_of_data};
	EXPECT_FALSE(reducible({compound(2), put_handle, read_plus}));
	/// Wherever it begins: operations without arguments in front of it.
	for (std::uint32_t in_front = 0; in_front < 4; in_front++) {
		const Values put_root_handles(in_front, 24);
		EXPECT_FALSE(reducible({compound(in_front + 1), put_root_handles, read_plus})) << in_front;
	}
	EXPECT_FALSE(
		reducible({compound(4), put_handle, Values{38, 1, 2, 3, 4, 0, 0, 2, 8, 1, 2}, read_plus, Values{27}}));
	/// A WRITE whose data are in a chunk ends what is known.
	EXPECT_TRUE(reducible({compound(3), put_handle, write4, read_plus}));
}

TEST(Results, ThatRpcsecGssProtects_AreNot)
{
	EXPECT_TRUE(reducible({call(nfs, 3, 6, gss(1)), handle, Values{0, 0, size_of_data}}));
	EXPECT_FALSE(reducible({call(nfs, 3, 6, gss(2)), handle, Values{0, 0, size_of_data}}));
	EXPECT_FALSE(reducible({call(nfs, 3, 6, gss(3)), handle, Values{0, 0, size_of_data}}));
}

} // namespace
} // namespace rpcordma::unit
