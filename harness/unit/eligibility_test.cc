// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "proto/eligibility.hh"

namespace rpcordma::unit {
namespace {

using Values = std::vector<std::uint32_t>;

constexpr std::uint32_t nfs = 100003;
constexpr std::uint32_t no_credential[]{0, 0, 0, 0};
/// AUTH_SYS: stamp, name, user, group, no further groups.
constexpr std::uint32_t user[]{1, 20, 9, 0, 0, 0, 0, 0, 0};
/// A handle of five bytes.
constexpr std::uint32_t handle[]{5, 0x01020304, 0x05000000};

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

constexpr std::uint32_t write3[]{0, 4096, 8192, 2, 8192};
constexpr std::uint32_t write4[]{0, 1, 2, 22, 4, 1, 38, 1, 2, 3, 4, 0, 4096, 2, 8192};

/// Whether an item is that stands behind those words, and in front of these.
bool eligible(std::initializer_list<vectors::Words> before, vectors::Words behind = {})
{
	const Values all = joined(before);
	const Exact bytes(on_wire(joined({all, behind})));
	return proto::is_eligible(bytes, static_cast<std::uint32_t>(all.size() * wire::xdr_unit));
}

TEST(Eligible, DataOfWrite_Are)
{
	EXPECT_TRUE(eligible({call(nfs, 2, 8), Values{1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 8192}}));
	EXPECT_TRUE(eligible({call(nfs, 3, 7), handle, write3}));
	EXPECT_TRUE(eligible({call(nfs, 3, 7, no_credential), handle, write3}));
	EXPECT_TRUE(eligible({call(nfs, 4, 1), write4}));
	EXPECT_TRUE(eligible({call(nfs, 4, 1), write4}, Values{9, 1, 24}));
}

TEST(Eligible, TextOfASymbolicLink_Is)
{
	EXPECT_TRUE(eligible({call(nfs, 2, 13), Values{1, 2, 3}}));
	EXPECT_TRUE(eligible({call(nfs, 3, 10), handle, Values{1, 0x61000000, 0, 0, 0, 0, 0, 0, 900}}));
	EXPECT_TRUE(eligible({call(nfs, 4, 1), Values{0, 1, 2, 22, 4, 1, 6, 5, 900}}));
}

TEST(Eligible, OtherItemsOfThese_AreNot)
{
	EXPECT_FALSE(eligible({call(nfs, 3, 7), Values{5}}, write3));
	EXPECT_FALSE(eligible({call(nfs, 3, 7), handle}, write3));
	EXPECT_FALSE(eligible({call(nfs, 3, 7), handle, write3, Values{1}}));
	EXPECT_FALSE(eligible({call(nfs, 4, 1), Values{0, 1, 2, 22, 4}}));
	EXPECT_FALSE(eligible({call(nfs, 4, 1), Values{0, 1, 2, 22, 4, 1, 37, 1, 2, 3, 4, 0, 4096, 2, 8192}}));
	EXPECT_FALSE(eligible({call(nfs, 4, 1), Values{0, 1, 2, 22, 4, 1, 6, 4, 900}}));
	EXPECT_FALSE(eligible({call(nfs, 4, 1), Values{0, 1, 2, 22, 4, 1, 7, 5, 900}}));
	EXPECT_FALSE(eligible({call(nfs, 4, 1), Values{5, 900}}));
	EXPECT_FALSE(eligible({call(nfs, 4, 1)}));
}

TEST(Eligible, ItemsOfOtherProcedures_AreNot)
{
	EXPECT_FALSE(eligible({call(nfs, 2, 7), Values{1, 2, 3}}));
	EXPECT_FALSE(eligible({call(nfs, 3, 8), handle, write3}));
	EXPECT_FALSE(eligible({call(nfs, 4, 0), write4}));
	EXPECT_FALSE(eligible({call(nfs, 1, 8), Values{1, 2, 3}}));
	EXPECT_FALSE(eligible({call(nfs, 5, 1), write4}));
	EXPECT_FALSE(eligible({call(100005, 3, 7), handle, write3}));
	EXPECT_FALSE(eligible({call(0x40000000, 1, 1), write4}));
}

TEST(Eligible, NothingIsThatRpcsecGssProtects)
{
	EXPECT_TRUE(eligible({call(nfs, 3, 7, gss(1)), handle, write3}));
	EXPECT_FALSE(eligible({call(nfs, 3, 7, gss(2)), handle, write3}));
	EXPECT_FALSE(eligible({call(nfs, 3, 7, gss(3)), handle, write3}));
}

TEST(Eligible, NothingIsInAnRpcHeader)
{
	for (const Values &credential : {Values{1, 0, 0, 0}, gss(1), Values{6, 12, 1, 0, 3, 0, 0}, Values{6, 4, 1},
					 Values{1, 0xffffffff, 0, 0, 0}}) {
		const Values whole = call(nfs, 3, 10, credential);
		for (std::size_t size = 0; size < whole.size(); ++size)
			EXPECT_FALSE(eligible({vectors::Words(whole).first(size)})) << size;
	}
	EXPECT_FALSE(eligible({call(nfs, 3, 10, Values{6, 12, 1, 0, 3})}));
	EXPECT_FALSE(eligible({call(nfs, 3, 10, Values{6, 4, 1})}));
}

} // namespace
} // namespace rpcordma::unit
