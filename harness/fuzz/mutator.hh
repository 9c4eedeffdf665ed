// SPDX-License-Identifier: GPL-2.0-only
/// Changes an input in the terms of the protocol, so that most inputs get past the first check of a decoder: a segment more
/// or less, a length at its limit, another order. What is not a message is left to libFuzzer, and so is a share of what is.
///
/// The peer's codec takes messages apart and puts them together; it can write what no well-behaved peer sends. What version 2
/// has beside version 1, it is not asked about.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <random>

#include "harness/peer/codec/header.hh"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t max_size);

namespace rpcordma::fuzz {

/// Version 2's type of an optional message.
constexpr std::uint32_t OPTIONAL = 5;

class Mutator {
    public:
	explicit Mutator(unsigned seed)
		: random_(seed)
	{
	}

	void change(peer::Header &header)
	{
		switch (below(8)) {
		case 0:
			change_fixed(header);
			break;
		case 1:
		case 2:
			change_reads(header.reads);
			break;
		case 3:
		case 4:
			change_writes(header.writes);
			break;
		case 5:
			change_reply(header.reply);
			break;
		case 6:
			header.error = pick({peer::ERR_VERS, peer::ERR_CHUNK, 0U, 3U});
			header.version_low = number();
			header.version_high = number();
			break;
		default:
			change_position(header.reads);
		}
	}

	[[nodiscard]] bool one_in(unsigned n) { return below(n) == 0; }

	/// The direction of a message of version 2, which may have had one.
	std::uint32_t direction(std::optional<std::uint32_t> before)
	{
		return before && !one_in(4) ? *before : pick({0U, 1U, 0U, 1U, 2U});
	}

	/// An optional message: behind the fixed fields its direction, its type, its information, a payload.
	void change_optional(peer::Bytes &message)
	{
		const unsigned size = below(40);
		message.resize(28 + (size + 3) / 4 * 4 + 12 * below(2), 0);
		put(message, 16, direction(std::nullopt));
		put(message, 20, number());
		put(message, 24, one_in(4) ? number() : size);
		if (one_in(4))
			message.resize(message.size() - below(5));
	}

	/// The words of an RPC header, which have few good values: XID, msg_type, RPC version, count of an item.
	void change_payload(peer::Bytes &payload, std::uint32_t xid)
	{
		if (payload.size() < 8 || one_in(4))
			payload.resize(4 * below(24), 0);
		if (payload.size() < 8)
			return;
		put(payload, 0, one_in(8) ? number() : xid);
		put(payload, 4, pick({0U, 1U, 0U, 1U, 2U}));
		const std::size_t word = below(static_cast<unsigned>(payload.size() / 4));
		if (word > 1)
			put(payload, 4 * word, number());
	}

    private:
	unsigned below(unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random_); }

	template <std::size_t N> std::uint32_t pick(const std::uint32_t (&values)[N]) { return values[below(N)]; }

	/// Any number, but mostly one of those where something changes.
	std::uint32_t number()
	{
		static constexpr std::uint32_t LIMITS[] = {0,	     1,		 2,   3,   4,	    7,	  8,
							   24,	     40,	 44,  100, 1024,    4096, 65536,
							   0x100000, 0x7fffffff, ~0U, ~3U, 1U << 31};
		return one_in(6) ? static_cast<std::uint32_t>(random_()) : pick(LIMITS) + below(3);
	}

	std::uint32_t small_multiple_of_four() { return 4 * below(24); }

	peer::Segment segment() { return {one_in(2) ? 7U : number(), one_in(2) ? below(64) : number(), number()}; }

	void change(peer::Segment &segment)
	{
		switch (below(3)) {
		case 0:
			segment.handle = number();
			break;
		case 1:
			segment.length = one_in(2) ? below(64) : number();
			break;
		default:
			segment.offset = std::uint64_t{number()} << 32 | number();
		}
	}

	void change_fixed(peer::Header &header)
	{
		switch (below(6)) {
		case 0:
			header.version = pick({1U, 1U, 2U, 2U, 0U, 3U, ~0U});
			break;
		case 1:
			header.credits = number();
			break;
		case 2:
			header.xid = number();
			break;
		default:
			header.type = pick({peer::RDMA_MSG, peer::RDMA_MSG, peer::RDMA_NOMSG, peer::RDMA_NOMSG,
					    peer::RDMA_MSGP, peer::RDMA_DONE, peer::RDMA_ERROR, OPTIONAL, 6U});
		}
	}

	/// Adds one, takes one away, repeats one, or exchanges two.
	template <typename T, typename Make> void change_order(std::vector<T> &list, Make make)
	{
		const auto any = [&] { return list.begin() + below(static_cast<unsigned>(list.size())); };
		if (list.empty() || (list.size() < 64 && one_in(3))) {
			list.insert(list.begin() + below(static_cast<unsigned>(list.size()) + 1), make());
		} else if (one_in(3)) {
			list.erase(any());
		} else if (one_in(2)) {
			const T copy = *any();
			list.push_back(copy);
		} else {
			std::iter_swap(any(), any());
		}
	}

	void change_reads(std::vector<peer::ReadSegment> &reads)
	{
		if (!reads.empty() && one_in(2))
			return change(reads[below(static_cast<unsigned>(reads.size()))].target);
		change_order(reads, [this] { return peer::ReadSegment{small_multiple_of_four(), segment()}; });
	}

	void change_position(std::vector<peer::ReadSegment> &reads)
	{
		if (reads.empty())
			return change_reads(reads);
		std::uint32_t &position = reads[below(static_cast<unsigned>(reads.size()))].position;
		position = one_in(4) ? number() : small_multiple_of_four();
	}

	void change(peer::Chunk &chunk)
	{
		if (!chunk.empty() && one_in(2))
			return change(chunk[below(static_cast<unsigned>(chunk.size()))]);
		change_order(chunk, [this] { return segment(); });
	}

	void change_writes(std::vector<peer::Chunk> &writes)
	{
		if (!writes.empty() && one_in(2))
			return change(writes[below(static_cast<unsigned>(writes.size()))]);
		change_order(writes, [this] { return peer::Chunk{segment()}; });
	}

	void change_reply(std::optional<peer::Chunk> &reply)
	{
		if (!reply)
			reply = peer::Chunk{segment()};
		else if (one_in(3))
			reply.reset();
		else
			change(*reply);
	}

	static void put(peer::Bytes &bytes, std::size_t at, std::uint32_t value)
	{
		for (std::size_t i = 0; i < 4; i++)
			bytes[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
	}

	std::minstd_rand random_;
};

inline std::uint32_t word(const peer::Bytes &message, std::size_t at)
{
	std::uint32_t value = 0;
	for (std::size_t i = 0; i < 4; i++)
		value = value << 8 | message[at + i];
	return value;
}

/// Whether there is a direction behind the fixed fields.
inline bool has_direction(std::uint32_t version, std::uint32_t type)
{
	return version == 2 && (type == peer::RDMA_MSG || type == peer::RDMA_NOMSG || type == OPTIONAL);
}

/// Takes the direction out of a message, so that one of version 1 is left.
inline std::optional<std::uint32_t> take_direction(peer::Bytes &message)
{
	if (message.size() < 20 || !has_direction(word(message, 4), word(message, 12)))
		return std::nullopt;
	const std::uint32_t direction = word(message, 16);
	message.erase(message.begin() + 16, message.begin() + 20);
	return direction;
}

/// Puts one where it belongs.
inline void put_direction(peer::Bytes &message, std::uint32_t direction)
{
	peer::XdrWriter xdr;
	xdr.u32(direction);
	const peer::Bytes bytes = xdr.take();
	message.insert(message.begin() + 16, bytes.begin(), bytes.end());
}

/// Of an input that begins as @prefix and goes on with @data, what is to stand in the place of @data.
inline std::optional<peer::Bytes> changed(peer::ByteView prefix, peer::ByteView data, unsigned seed)
{
	Mutator mutator(seed);
	if (mutator.one_in(4))
		return std::nullopt;
	peer::Bytes whole(prefix.begin(), prefix.end());
	whole.insert(whole.end(), data.begin(), data.end());
	if (prefix.empty() && whole.size() >= 16 && word(whole, 4) == 2 && word(whole, 12) == OPTIONAL) {
		mutator.change_optional(whole);
		return whole;
	}
	try {
		const std::optional<std::uint32_t> direction = take_direction(whole);
		peer::Decoded decoded = peer::decode(whole);
		do {
			mutator.change(decoded.header);
		} while (mutator.one_in(2));
		if (prefix.empty() && mutator.one_in(3))
			mutator.change_payload(decoded.payload, decoded.header.xid);
		peer::Bytes message = peer::encode(decoded.header);
		if (has_direction(decoded.header.version, decoded.header.type))
			put_direction(message, mutator.direction(direction));
		if (message.size() < prefix.size() || !std::equal(prefix.begin(), prefix.end(), message.begin()))
			return std::nullopt;
		message.erase(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(prefix.size()));
		message.insert(message.end(), decoded.payload.begin(), decoded.payload.end());
		return message;
	} catch (const peer::Malformed &) {
		return std::nullopt;
	}
}

/// What LLVMFuzzerCustomMutator() is for inputs that begin as @prefix.
inline std::size_t mutate(peer::ByteView prefix, std::uint8_t *data, std::size_t size, std::size_t max_size,
			  unsigned seed)
{
	const auto message = changed(prefix, {data, size}, seed);
	if (!message || message->size() > max_size)
		return LLVMFuzzerMutate(data, size, max_size);
	std::memcpy(data, message->data(), message->size());
	return message->size();
}

} // namespace rpcordma::fuzz
