// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "wire/xdr.hh"

namespace rpcordma::unit {
namespace {

using namespace wire;

TEST(RoundupPadding, FillsUpToAMultipleOfFour)
{
	EXPECT_EQ(roundup_padding(0), 0u);
	EXPECT_EQ(roundup_padding(1), 3u);
	EXPECT_EQ(roundup_padding(2), 2u);
	EXPECT_EQ(roundup_padding(3), 1u);
	EXPECT_EQ(roundup_padding(4), 0u);
	EXPECT_EQ(roundup_padding(0xffffffff), 1u);
	EXPECT_EQ(roundup_padding(0xfffffffd), 3u);
}

TEST(LoadAndStore, AreBigEndian)
{
	const std::byte bytes[] = {std::byte{0x01}, std::byte{0x23}, std::byte{0x45}, std::byte{0x67},
				   std::byte{0x89}, std::byte{0xab}, std::byte{0xcd}, std::byte{0xef}};
	EXPECT_EQ(load_u32(std::span(bytes).first<4>()), 0x01234567u);
	EXPECT_EQ(load_u64(std::span(bytes)), 0x0123456789abcdefu);

	std::byte stored[4];
	store_u32(std::span(stored), 0x89abcdef);
	EXPECT_EQ(copy_of(stored), copy_of(std::span(bytes).last<4>()));
	std::byte both[8];
	store_u64(std::span(both), 0x0123456789abcdef);
	EXPECT_EQ(copy_of(both), copy_of(std::span(bytes)));
}

TEST(HasWord, FindsItWhereverItStands)
{
	for (std::size_t count = 0; count < 10; count++) {
		std::vector<std::uint32_t> words(count, 7);
		EXPECT_FALSE(has_word(Exact(on_wire(words)), 8)) << count;
		for (std::uint32_t &word : words) {
			word = 8;
			EXPECT_TRUE(has_word(Exact(on_wire(words)), 8)) << count;
			word = 7;
		}
	}
}

TEST(HasWord, LooksAtWholeWords)
{
	const Exact bytes = message({0x01020304, 0x05060708});
	EXPECT_FALSE(has_word(Bytes(bytes).subspan(1), 0x05060708));
	EXPECT_FALSE(has_word(Bytes(bytes).first(7), 0x05060708));
}

TEST(Reader, ReadsItemsInOrder)
{
	const Exact bytes = message({0x01234567, 0x89abcdef, 0x00000001, 1, 0, 0xffffffff});
	Reader reader(bytes);
	EXPECT_EQ(reader.u32(), 0x01234567u);
	EXPECT_EQ(load_u64(*reader.take<8>()), 0x89abcdef00000001u);
	EXPECT_EQ(reader.boolean(), true);
	EXPECT_EQ(reader.boolean(), false);
	EXPECT_EQ(reader.rest().size(), 4u);
	EXPECT_EQ(reader.u32(), 0xffffffffu);
	EXPECT_TRUE(reader.rest().empty());
}

TEST(Reader, Take_HandsOutExactlySoManyBytes)
{
	const Exact bytes = message({0x01020304, 0x05060708});
	Reader reader(bytes);
	const auto taken = reader.take(5);
	ASSERT_TRUE(taken);
	EXPECT_EQ(taken->data(), static_cast<Bytes>(bytes).data());
	EXPECT_EQ(taken->size(), 5u);
	EXPECT_EQ(reader.rest().size(), 3u);
	EXPECT_EQ(error_of(reader.take(4)), Error::truncated);
	EXPECT_TRUE(reader.take(3));
	EXPECT_TRUE(reader.take(0));
	EXPECT_EQ(error_of(reader.take(1)), Error::truncated);
}

TEST(Reader, HugeTake_IsTruncated)
{
	const Exact bytes = message({0});
	Reader reader(bytes);
	EXPECT_EQ(error_of(reader.take(SIZE_MAX)), Error::truncated);
	EXPECT_EQ(error_of(reader.take(std::size_t{1} << 32)), Error::truncated);
}

TEST(Reader, TruncatedItem_LeavesTheCursorWhereItWas)
{
	const std::vector<std::byte> words = on_wire({1, 1});
	for (std::size_t size = 0; size < 8; ++size) {
		const Exact bytes = cut(words, size);
		Reader reader(bytes);
		EXPECT_EQ(error_of(reader.take<8>()), Error::truncated);
		EXPECT_EQ(reader.rest().size(), size);
		if (size >= 4)
			continue;
		EXPECT_EQ(error_of(reader.u32()), Error::truncated);
		EXPECT_EQ(error_of(reader.boolean()), Error::truncated);
		EXPECT_EQ(reader.rest().size(), size);
	}
}

TEST(Reader, BooleanOtherThanZeroAndOne_IsABadDiscriminator)
{
	for (const std::uint32_t value : {2u, 3u, 0x100u, 0x01000000u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
		const Exact bytes = message({value, 1});
		Reader reader(bytes);
		EXPECT_EQ(error_of(reader.boolean()), Error::bad_discriminator);
		EXPECT_EQ(reader.rest().size(), 8u);
		EXPECT_EQ(reader.u32(), value);
	}
}

TEST(Writer, WritesItemsInOrder)
{
	Exact room = message({0, 0, 0, 0xcccccccc});
	Writer writer(room);
	EXPECT_EQ(writer.size(), 0u);
	EXPECT_TRUE(writer.u32(0x01234567));
	EXPECT_EQ(writer.size(), 4u);
	store_u64(*writer.take<8>(), 0x89abcdef00000001);
	EXPECT_EQ(writer.size(), 12u);
	EXPECT_EQ(copy_of(room), on_wire({0x01234567, 0x89abcdef, 0x00000001, 0xcccccccc}));
}

TEST(Writer, NoRoom_WritesNothing)
{
	const std::vector<std::byte> words = on_wire({0xcccccccc, 0xcccccccc});
	for (std::size_t size = 0; size < 8; ++size) {
		Exact room = cut(words, size);
		Writer writer(room);
		EXPECT_EQ(error_of(writer.take<8>()), Error::no_room);
		EXPECT_EQ(writer.size(), 0u);
		if (size < 4) {
			EXPECT_EQ(error_of(writer.u32(0)), Error::no_room);
			EXPECT_EQ(writer.size(), 0u);
		}
		EXPECT_EQ(copy_of(room), copy_of(std::span(words).first(size)));
	}
}

TEST(Writer, FullRoom_TakesNoMore)
{
	Exact room = message({0, 0});
	Writer writer(room);
	store_u64(*writer.take<8>(), 1);
	EXPECT_EQ(error_of(writer.u32(2)), Error::no_room);
	EXPECT_EQ(writer.size(), 8u);
	EXPECT_EQ(copy_of(room), on_wire({0, 1}));
}

} // namespace
} // namespace rpcordma::unit
