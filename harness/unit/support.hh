// SPDX-License-Identifier: GPL-2.0-only
/// What the unit tests have in common: messages made of words, and looks into a Result.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "harness/vectors/rpcrdma_v1.hh"
#include "wire/chunk.hh"
#include "wire/xdr.hh"

namespace rpcordma::unit {

/// How often a test with random input is repeated. A kernel under sanitizers, in a virtual machine without KVM, takes a
/// hundred times as long for it.
constexpr int rounds(int here)
{
#ifdef __KERNEL__
	return here / 20;
#else
	return here;
#endif
}

/// Bytes at the very end of an allocation of their own, so that ASan sees the first byte read behind them.
class Exact {
    public:
	explicit Exact(std::span<const std::byte> bytes)
		: bytes_(new std::byte[bytes.size()])
		, size_(bytes.size())
	{
		if (!bytes.empty())
			std::memcpy(bytes_.get(), bytes.data(), bytes.size());
	}
	operator wire::Bytes() const { return {bytes_.get(), size_}; }
	operator wire::MutableBytes() { return {bytes_.get(), size_}; }

    private:
	std::unique_ptr<std::byte[]> bytes_;
	std::size_t size_;
};

/// The words as they stand on the wire.
inline std::vector<std::byte> on_wire(vectors::Words words)
{
	std::vector<std::byte> bytes;
	for (const std::uint32_t word : words) {
		for (int shift = 24; shift >= 0; shift -= 8)
			bytes.push_back(static_cast<std::byte>(word >> shift));
	}
	return bytes;
}

inline std::vector<std::byte> on_wire(std::initializer_list<std::uint32_t> words)
{
	return on_wire(vectors::Words(words.begin(), words.size()));
}

/// A message in an allocation of its own.
inline Exact message(vectors::Words words)
{
	return Exact(on_wire(words));
}

inline Exact message(std::initializer_list<std::uint32_t> words)
{
	return Exact(on_wire(words));
}

/// The first `size` bytes of a message, as if the rest had been cut off.
inline Exact cut(std::span<const std::byte> bytes, std::size_t size)
{
	return Exact(bytes.first(size));
}

/// Room to write to, in which a zero that is not written is seen.
inline Exact room_of(std::size_t size)
{
	return Exact(std::vector<std::byte>(size, std::byte{0xa5}));
}

inline std::vector<std::byte> copy_of(wire::Bytes bytes)
{
	return {bytes.begin(), bytes.end()};
}

/// Chunk lists as the other side has received them.
class ReceivedChunks {
    public:
	explicit ReceivedChunks(const wire::ChunksToSend &sent)
		: bytes_(std::vector<std::byte>(sent.size()))
	{
		wire::Writer writer(bytes_);
		EXPECT_TRUE(sent.encode(writer));
		wire::Reader reader(bytes_);
		const auto received = wire::Chunks::decode(reader);
		EXPECT_TRUE(received);
		chunks_ = *received;
	}
	const wire::Chunks &operator*() const { return chunks_; }
	const wire::Chunks *operator->() const { return &chunks_; }

    private:
	Exact bytes_;
	wire::Chunks chunks_;
};

/// The error that `result` holds, if any.
template <typename T, typename E> std::optional<E> error_of(const std::expected<T, E> &result)
{
	if (result)
		return std::nullopt;
	return result.error();
}

/// Names a parameterised test after its vector.
inline constexpr auto vector_name = [](const auto &info) { return info.param.name; };

} // namespace rpcordma::unit
