// SPDX-License-Identifier: GPL-2.0-only
//
// XDR (RFC 4506), for all that the peer says and hears. Written from the RFC: nothing here comes from the module, so
// that a misreading in one of them is caught by the other.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace peer {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

/// A copy of bytes that somebody else owns.
[[nodiscard]] inline Bytes bytes_of(ByteView view)
{
	return {view.begin(), view.end()};
}

/// What is received is not what the protocol allows; the text names the field and what is wrong with it.
class Malformed : public std::runtime_error {
	using runtime_error::runtime_error;
};

/// How many bytes of padding XDR puts behind @length bytes: 0 to 3 (RFC 4506, section 4.9).
[[nodiscard]] constexpr std::size_t roundup_of(std::size_t length) noexcept
{
	return -length & 3;
}

/// Writes XDR to the end of a buffer of its own.
class XdrWriter {
    public:
	void u32(std::uint32_t value)
	{
		for (int shift = 24; shift >= 0; shift -= 8)
			bytes_.push_back(static_cast<std::uint8_t>(value >> shift));
	}

	void u64(std::uint64_t value)
	{
		u32(static_cast<std::uint32_t>(value >> 32));
		u32(static_cast<std::uint32_t>(value));
	}

	void boolean(bool value) { u32(value ? 1 : 0); }

	/// Fixed-length opaque data, with its padding.
	void fixed(ByteView data)
	{
		bytes_.insert(bytes_.end(), data.begin(), data.end());
		bytes_.resize(bytes_.size() + roundup_of(data.size()));
	}

	/// Variable-length opaque data: its length, the data, the padding.
	void opaque(ByteView data)
	{
		u32(static_cast<std::uint32_t>(data.size()));
		fixed(data);
	}

	void string(std::string_view text)
	{
		opaque({reinterpret_cast<const std::uint8_t *>(text.data()), text.size()});
	}

	/// How many bytes have been written: the offset of what comes next.
	[[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }

	[[nodiscard]] Bytes take() noexcept { return std::move(bytes_); }

    private:
	Bytes bytes_;
};

/// Reads XDR from bytes that somebody else owns and that outlive it. Throws Malformed where they end too soon.
class XdrReader {
    public:
	explicit XdrReader(ByteView bytes) noexcept
		: bytes_(bytes)
	{
	}

	[[nodiscard]] std::uint32_t u32(std::string_view field)
	{
		const ByteView word = take(4, field);
		return std::uint32_t{word[0]} << 24 | std::uint32_t{word[1]} << 16 | std::uint32_t{word[2]} << 8 |
		       word[3];
	}

	[[nodiscard]] std::uint64_t u64(std::string_view field)
	{
		const std::uint64_t high = u32(field);
		return high << 32 | u32(field);
	}

	/// A bool, or the discriminator of optional data: throws Malformed for anything but 0 and 1.
	[[nodiscard]] bool boolean(std::string_view field)
	{
		const std::uint32_t value = u32(field);
		if (value > 1)
			throw Malformed(std::string(field) + " is " + std::to_string(value) +
					", where only 0 and 1 are defined");
		return value == 1;
	}

	[[nodiscard]] ByteView fixed(std::size_t length, std::string_view field)
	{
		const ByteView data = take(length, field);
		skip(roundup_of(length), field);
		return data;
	}

	[[nodiscard]] ByteView opaque(std::string_view field) { return fixed(u32(field), field); }

	[[nodiscard]] std::string string(std::string_view field)
	{
		const ByteView text = opaque(field);
		return {text.begin(), text.end()};
	}

	void skip(std::size_t length, std::string_view field) { static_cast<void>(take(length, field)); }

	/// What has not been read yet.
	[[nodiscard]] ByteView rest() const noexcept { return bytes_.subspan(at_); }

	/// The offset of what is read next.
	[[nodiscard]] std::size_t offset() const noexcept { return at_; }

    private:
	ByteView take(std::size_t length, std::string_view field)
	{
		if (bytes_.size() - at_ < length)
			throw Malformed("the message ends within " + std::string(field) + ", at byte " +
					std::to_string(bytes_.size()));
		at_ += length;
		return bytes_.subspan(at_ - length, length);
	}

	ByteView bytes_;
	std::size_t at_ = 0;
};

} // namespace peer
