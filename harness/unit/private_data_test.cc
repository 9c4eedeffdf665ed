// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "wire/private_data.hh"

namespace rpcordma::unit {
namespace {

using vectors::PrivateDataVector;
using wire::PrivateData;

class ReceivedPrivateData : public testing::TestWithParam<PrivateDataVector> {};
INSTANTIATE_TEST_SUITE_P(Vectors, ReceivedPrivateData, testing::ValuesIn(vectors::private_data_vectors), vector_name);

TEST_P(ReceivedPrivateData, Decode_FindsWhatIsSaid)
{
	const Exact bytes(std::as_bytes(GetParam().bytes));
	EXPECT_EQ(PrivateData::decode(bytes), GetParam().said);
}

TEST(PrivateData, AsConstructed_IsWhatASilentPeerSupports)
{
	const PrivateData silent;
	EXPECT_EQ(silent.send_size, 1024u);
	EXPECT_EQ(silent.receive_size, 1024u);
	EXPECT_FALSE(silent.remote_invalidation);
}

TEST(PrivateData, ThatSaysTheDefaults_IsThere)
{
	EXPECT_EQ(PrivateData::find(PrivateData{}.encode()), PrivateData{});
	EXPECT_EQ(PrivateData::find({}), std::nullopt);
}

TEST(PrivateData, DiffersByEachField)
{
	const PrivateData data{2048, 4096, true};
	EXPECT_EQ(data, (PrivateData{2048, 4096, true}));
	EXPECT_NE(data, (PrivateData{1024, 4096, true}));
	EXPECT_NE(data, (PrivateData{2048, 1024, true}));
	EXPECT_NE(data, (PrivateData{2048, 4096, false}));
}

TEST(PrivateData, Encode_WritesTheFormat)
{
	const auto bytes = PrivateData{4096, 8192, true}.encode();
	EXPECT_EQ(copy_of(bytes), copy_of(std::as_bytes(std::span(vectors::usual_private_data))));
	const auto without_flag = PrivateData{1024, 262144, false}.encode();
	EXPECT_EQ(copy_of(without_flag), on_wire({0xf6ab0e18, 0x010000ff}));
}

TEST(PrivateData, EverySize_SurvivesTheRoundTrip)
{
	for (std::uint32_t size = 1024; size <= 262144; size += 1024) {
		const PrivateData data{size, 263168 - size, size % 2048 == 0};
		EXPECT_EQ(PrivateData::decode(data.encode()), data);
	}
}

TEST(PrivateData, OddSizes_AreRoundedDownAndKeptInRange)
{
	const auto encoded = [](std::uint32_t size) {
		return PrivateData::decode(PrivateData{size, 1024, false}.encode()).send_size;
	};
	EXPECT_EQ(encoded(0), 1024u);
	EXPECT_EQ(encoded(1), 1024u);
	EXPECT_EQ(encoded(1023), 1024u);
	EXPECT_EQ(encoded(1025), 1024u);
	EXPECT_EQ(encoded(2047), 1024u);
	EXPECT_EQ(encoded(2048), 2048u);
	EXPECT_EQ(encoded(262143), 261120u);
	EXPECT_EQ(encoded(262145), 262144u);
	EXPECT_EQ(encoded(0xffffffff), 262144u);
}

TEST(PrivateData, CutAnywhere_GivesTheDefaults)
{
	for (std::size_t size = 0; size < 8; ++size) {
		const Exact bytes(std::as_bytes(std::span(vectors::usual_private_data)).first(size));
		EXPECT_EQ(PrivateData::decode(bytes), PrivateData{});
	}
}

TEST(PrivateData, AtAnyOffset_IsFound)
{
	for (std::size_t offset = 0; offset <= 188; ++offset) {
		std::vector<std::byte> delivered(196, std::byte{0xf6});
		std::memcpy(&delivered[offset], vectors::usual_private_data, 8);
		EXPECT_EQ(PrivateData::decode(Exact(delivered)), vectors::usual_sizes) << offset;
	}
}

TEST(PrivateData, AnyByteOfMagicOrVersionChanged_IsNotFound)
{
	for (std::size_t i = 0; i < 5; ++i) {
		for (int bit = 0; bit < 8; ++bit) {
			std::vector<std::byte> bytes = copy_of(std::as_bytes(std::span(vectors::usual_private_data)));
			bytes[i] ^= static_cast<std::byte>(1 << bit);
			EXPECT_EQ(PrivateData::decode(Exact(bytes)), PrivateData{});
		}
	}
}

} // namespace
} // namespace rpcordma::unit
