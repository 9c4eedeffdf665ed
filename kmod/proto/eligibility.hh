// SPDX-License-Identifier: GPL-2.0-only
/// Which data items of an RPC are DDP-eligible: what the Upper Layer Bindings of NFS say (RFC 8267), and that nothing is
/// where RPCSEC_GSS protects arguments and results (rfc5666bis-04, 10.2.2.3).
#pragma once

#include <cstdint>
#include <optional>

#include "wire/xdr.hh"

namespace rpcordma::proto {

/// Goes through the Payload stream of a Call from its front, argument by argument: no value is taken for another because it
/// looks like it. Needs no memory, and no more steps than the stream has words.
class Eligibility {
    public:
	/// What a Read chunk holds: is it missing from the payload, or has it been put in its place?
	enum class Chunk : bool { missing, in_place };

	/// The Payload stream, or as much of its front as is known. A multiple of four bytes matters.
	explicit Eligibility(wire::Bytes payload) noexcept
		: reader_(payload)
		, size_(payload.size())
	{
	}

	/// Whether a Read chunk of `length` bytes holds a DDP-eligible argument: whether one begins `at` bytes from the
	/// beginning of the payload, or one that the chunk before has the first part of goes on there. To be asked of one
	/// chunk after another, in the order of their Positions, up to the first that does not. Of a COMPOUND, what stands behind an operation of unknown
	/// arguments is not eligible.
	[[nodiscard]] bool has_argument(std::uint64_t at, std::uint64_t length, Chunk chunk) noexcept;

	/// Whether the results that the upper layer names may be reduced. READ_PLUS has none that may (RFC 8267, 6.1), though
	/// nfsd names them: of its COMPOUND nothing is reduced. To be asked first, and nothing after it.
	[[nodiscard]] bool may_reduce_results() noexcept;

    private:
	[[nodiscard]] bool begin() noexcept;
	[[nodiscard]] std::optional<std::uint32_t> next_argument() noexcept;
	[[nodiscard]] bool begin_operation() noexcept;
	[[nodiscard]] std::size_t position() const noexcept { return size_ - reader_.rest().size(); }

	wire::Reader reader_;
	std::size_t size_;
	/// What comes next: see eligibility.cc. Null before the beginning.
	const char *arguments_ = nullptr;
	/// Of a COMPOUND, those that have not been begun.
	std::uint32_t operations_ = 0;
	bool has_read_plus_ = false;
	/// How much of the last eligible argument no chunk holds, roundup padding included, in bytes.
	std::uint64_t left_ = 0;
};

} // namespace rpcordma::proto
