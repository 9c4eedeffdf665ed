// SPDX-License-Identifier: GPL-2.0-only
/// Payload streams put together and taken apart in the simplest way there is, byte by byte, for the unit tests and the
/// fuzzers to compare with what kmod/proto does in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "proto/assembly.hh"
#include "proto/response.hh"

namespace rpcordma::model {

/// A byte of a Payload stream, or one of roundup padding, which can be anything.
using Content = std::vector<int>;
inline constexpr int padding = -1;

/// A byte of a requester's memory: it follows from where it is.
inline int remote_byte(wire::Handle handle, std::uint64_t address)
{
	const std::uint64_t mixed = (address + std::to_underlying(handle)) * 0x9e3779b97f4a7c15;
	return static_cast<int>(mixed >> 56);
}

inline void append(Content &content, const wire::Segment &segment)
{
	for (std::uint32_t i = 0; i < segment.length; ++i)
		content.push_back(remote_byte(segment.handle, segment.offset + i));
}

inline void append(Content &content, wire::Bytes bytes)
{
	for (const std::byte byte : bytes)
		content.push_back(std::to_integer<int>(byte));
}

/// The Payload stream of a Call, if its chunks make one of no more than `most` bytes.
inline std::optional<Content> stream_of(const proto::Call &call, std::uint32_t most)
{
	std::map<std::uint32_t, std::vector<wire::Segment>> chunks;
	std::uint64_t length = call.payload.size();
	for (const wire::ReadSegment segment : call.chunks.reads) {
		chunks[std::to_underlying(segment.position)].push_back(segment.target);
		length += segment.target.length;
	}
	if (length > most)
		return std::nullopt;

	Content stream;
	if (call.is_long) {
		for (const wire::Segment &segment : chunks[0])
			append(stream, segment);
	} else if (chunks.contains(0)) {
		return std::nullopt;
	} else {
		append(stream, call.payload);
	}
	chunks.erase(0);
	if (stream.empty())
		return std::nullopt;

	std::size_t free_from = 0;
	for (const auto &[position, segments] : chunks) {
		if (position % 4 != 0 || position < free_from || position > stream.size())
			return std::nullopt;
		Content chunk;
		for (const wire::Segment &segment : segments)
			append(chunk, segment);
		const std::size_t length = chunk.size();
		while (chunk.size() % 4 != 0)
			chunk.push_back(padding);
		// The word in front of it may be its count, which takes no padding in.
		if (!call.is_long && position != free_from) {
			std::uint32_t count = 0;
			for (std::size_t at = position - 4; at < position; ++at)
				count = count << 8 | static_cast<std::uint32_t>(stream[at]);
			if (length < count && count <= chunk.size())
				return std::nullopt;
		}
		stream.insert(stream.begin() + position, chunk.begin(), chunk.end());
		free_from = position + chunk.size();
	}
	if (stream.size() > most || stream.size() < proto::smallest_rpc_call)
		return std::nullopt;
	return stream;
}

/// What a responder comes to that follows an Assembly, and the first thing that is wrong with that.
struct Assembled {
	Content stream = {};
	const char *problem = nullptr;
};

/// Fills the memory that an Assembly asks for.
inline Assembled filled(const proto::Call &call, const proto::Assembly &assembly)
{
	Content memory(assembly.filled(), padding);
	std::size_t end = 0;
	std::size_t steps_left = 2 * std::size_t{call.chunks.reads.count()} + 1;
	proto::Pieces pieces = assembly.pieces();
	while (const auto piece = pieces.next()) {
		Content content;
		if (steps_left-- == 0)
			return {{}, "there are too many pieces"};
		if (piece->length == 0)
			return {{}, "a piece is empty"};
		if (piece->offset < end)
			return {{}, "pieces overlap, or are out of order"};
		if (piece->offset - end > 3)
			return {{}, "between two pieces is more than padding"};
		if (std::uint64_t{piece->offset} + piece->length > memory.size())
			return {{}, "a piece is outside the memory"};
		if (const auto *bytes = std::get_if<wire::Bytes>(&piece->source))
			append(content, *bytes);
		else
			append(content, std::get<wire::Segment>(piece->source));
		if (content.size() != piece->length)
			return {{}, "a piece has another length than its source"};
		std::copy(content.begin(), content.end(), memory.begin() + piece->offset);
		end = piece->offset + piece->length;
	}
	if (memory.size() - end > 3)
		return {{}, "behind the last piece is more than padding"};
	if (pieces.next())
		return {{}, "there is a piece behind the last"};
	return {memory, nullptr};
}

/// Puts a Call together as an Assembly says.
inline Assembled assembled(const proto::Call &call, const proto::Assembly &assembly)
{
	Assembled result = filled(call, assembly);
	if (result.problem != nullptr || assembly.shape() == proto::CallShape::contiguous)
		return result;
	if (assembly.position() > call.payload.size())
		return {{}, "an item is behind the payload"};
	Content stream;
	append(stream, call.payload.first(assembly.position()));
	stream.insert(stream.end(), result.stream.begin(), result.stream.end());
	append(stream, call.payload.subspan(assembly.position()));
	return {stream, nullptr};
}

/// Where in a Payload stream the bytes were that are left of it without its items and their roundup padding.
inline std::vector<std::uint32_t> remainder_of(std::uint32_t size, std::span<const proto::Item> items)
{
	std::vector<bool> is_taken(size);
	for (const proto::Item &item : items) {
		const std::uint64_t end = std::uint64_t{item.offset} + item.length + (4 - item.length % 4) % 4;
		for (std::uint64_t at = item.offset; at < end && at < size; ++at)
			is_taken[at] = true;
	}
	std::vector<std::uint32_t> left;
	for (std::uint32_t at = 0; at < size; ++at) {
		if (!is_taken[at])
			left.push_back(at);
	}
	return left;
}

/// The same by a Remainder; none where that does something that it must not.
inline std::optional<std::vector<std::uint32_t>> walked(std::uint32_t size, std::span<const proto::Item> items)
{
	std::vector<std::uint32_t> left;
	std::size_t steps_left = items.size() + 1;
	proto::Remainder remainder(size, items);
	while (const auto stretch = remainder.next()) {
		const std::uint64_t end = std::uint64_t{stretch->offset} + stretch->length;
		if (steps_left-- == 0 || stretch->length == 0 || end > size)
			return std::nullopt;
		for (std::uint32_t at = stretch->offset; at < end; ++at)
			left.push_back(at);
	}
	if (remainder.next())
		return std::nullopt;
	return left;
}

} // namespace rpcordma::model
