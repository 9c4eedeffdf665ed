/* SPDX-License-Identifier: GPL-2.0-only */
/* Goes through the memory of a Payload stream of the upper layer's. */
#pragma once

#include <algorithm>

#include "kernel/page.hh"
#include "proto/response.hh"
#include "proto/segmenting.hh"
#include "verbs/transfer.hh"

namespace rpcordma::server {

/* Stretches of an xdr_buf, page by page. Refers to the buffer. */
class StreamReader {
    public:
	/* One stretch. */
	StreamReader(const xdr_buf &buffer, proto::Item stretch) noexcept
		: buffer_(buffer)
		, rest_(0, {})
		, stretch_(stretch)
	{
	}
	/* All that a remainder consists of. */
	StreamReader(const xdr_buf &buffer, const proto::Remainder &remainder) noexcept
		: buffer_(buffer)
		, rest_(remainder)
		, most_gaps_(2 * static_cast<std::uint32_t>(remainder.items()))
	{
	}

	/* The most gaps that there can be between stretches. */
	[[nodiscard]] std::uint32_t most_gaps() const noexcept { return most_gaps_; }
	/* The next piece, of `most` bytes at most; there must be some left. */
	[[nodiscard]] verbs::PagePiece next(std::uint32_t most) noexcept
	{
		if (stretch_.length == 0)
			stretch_ = rest_.next().value_or(proto::Item{});
		const verbs::PagePiece piece = at(stretch_.offset, std::min(most, stretch_.length));
		stretch_.offset += piece.length;
		stretch_.length -= piece.length;
		return piece;
	}

    private:
	[[nodiscard]] verbs::PagePiece at(std::uint32_t offset, std::uint32_t most) const noexcept
	{
		namespace field = kernel::field;
		const auto head = static_cast<std::uint32_t>(field::xdr_buf::head_length(&buffer_));
		const std::uint32_t pages = field::xdr_buf::page_len(&buffer_);

		if (offset < head)
			return verbs::piece_at(static_cast<const std::byte *>(field::xdr_buf::head(&buffer_)) + offset,
					       std::min(most, head - offset));
		offset -= head;
		if (offset >= pages)
			return verbs::piece_at(
				static_cast<const std::byte *>(field::xdr_buf::tail(&buffer_)) + offset - pages, most);
		const std::uint32_t from = field::xdr_buf::page_base(&buffer_) + offset;
		const std::uint32_t in_page = from % kernel::page_size;
		return {field::xdr_buf::pages(&buffer_)[from / kernel::page_size], in_page,
			std::min({most, pages - offset, kernel::page_size - in_page})};
	}

	const xdr_buf &buffer_;
	proto::Remainder rest_;
	proto::Item stretch_;
	std::uint32_t most_gaps_ = 0;
};

} // namespace rpcordma::server
