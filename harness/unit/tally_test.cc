// SPDX-License-Identifier: GPL-2.0-only
#include <string_view>

#include "harness/unit/support.hh"

#include "kernel/counter.hh"
#include "kernel/tally.hh"

namespace rpcordma::unit {
namespace {

template <std::size_t Size> std::size_t names_in(const kernel::Tally<Size> &tally)
{
	std::size_t names = 0;
	tally.for_each([&](const char *, std::uint64_t) { ++names; });
	return names;
}

template <std::size_t Size> std::uint64_t count_of(const kernel::Tally<Size> &tally, std::string_view name)
{
	std::uint64_t found = 0;
	tally.for_each([&](const char *counted, std::uint64_t count) { found += counted == name ? count : 0; });
	return found;
}

TEST(Tally, IsEmptyAtFirst)
{
	EXPECT_EQ(names_in(kernel::Tally<2>()), 0u);
}

TEST(Tally, CountsByTheTextOfAName)
{
	const char same[] = "credits";
	kernel::Tally<2> tally;
	tally.count("credits");
	tally.count("registrations");
	tally.count(same);
	EXPECT_EQ(names_in(tally), 2u);
	EXPECT_EQ(count_of(tally, "credits"), 2u);
	EXPECT_EQ(count_of(tally, "registrations"), 1u);
}

TEST(Tally, NamesWithoutAPlace_AreCountedTogether)
{
	kernel::Tally<2> tally;
	for (const char *name : {"first", "second", "third", "fourth", "second"})
		tally.count(name);
	EXPECT_EQ(names_in(tally), 3u);
	EXPECT_EQ(count_of(tally, "first"), 1u);
	EXPECT_EQ(count_of(tally, "second"), 2u);
	EXPECT_EQ(count_of(tally, "others"), 2u);
}

TEST(Counter, Grows)
{
	kernel::Counter counter;
	EXPECT_EQ(counter.read(), 0u);
	counter++;
	counter += 1ull << 40;
	EXPECT_EQ(counter.read(), (1ull << 40) + 1);
}

} // namespace
} // namespace rpcordma::unit
