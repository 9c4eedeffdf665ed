/* SPDX-License-Identifier: GPL-2.0-only */
/* A Payload stream as sunrpc holds it, seen by the decisions and by registrations. */
#pragma once

#include <array>

#include "proto/segmenting.hh"
#include "proto/transfer.hh"
#include "verbs/registration.hh"

namespace rpcordma::client {

namespace field = kernel::field;

/* What of an xdr_buf the decisions see. `eligible`: the flag by which sunrpc says that the pages are one DDP-eligible item. */
[[nodiscard]] inline proto::Stream stream_of(const xdr_buf &buffer, unsigned int eligible) noexcept
{
	return {.head = static_cast<std::uint32_t>(field::xdr_buf::head_length(&buffer)),
		.pages = field::xdr_buf::page_len(&buffer),
		.tail = static_cast<std::uint32_t>(field::xdr_buf::tail_length(&buffer)),
		.pages_are_ddp_eligible = (field::xdr_buf::flags(&buffer) & eligible) != 0};
}

/* Its pages alone. */
[[nodiscard]] inline verbs::Run pages_of(const xdr_buf &buffer) noexcept
{
	return verbs::Run::of_pages(field::xdr_buf::pages(&buffer), field::xdr_buf::page_base(&buffer),
				    field::xdr_buf::page_len(&buffer));
}

/* Head, pages and tail of an xdr_buf, which refers to the memory and does not own it. */
class Runs {
    public:
	explicit Runs(const xdr_buf &buffer) noexcept
		: runs_{verbs::Run::of_bytes(field::xdr_buf::head(&buffer),
					     static_cast<std::uint32_t>(field::xdr_buf::head_length(&buffer))),
			pages_of(buffer),
			verbs::Run::of_bytes(field::xdr_buf::tail(&buffer),
					     static_cast<std::uint32_t>(field::xdr_buf::tail_length(&buffer)))}
		, shapes_{runs_[0].shape, runs_[1].shape, runs_[2].shape}
	{
	}

	[[nodiscard]] std::span<const verbs::Run> runs() const noexcept { return runs_; }
	[[nodiscard]] std::span<const proto::MemoryRun> shapes() const noexcept { return shapes_; }

    private:
	const std::array<verbs::Run, 3> runs_;
	const std::array<proto::MemoryRun, 3> shapes_;
};

/* The number of segments that registering that much of an xdr_buf takes. */
[[nodiscard]] inline std::uint32_t segments_of(const xdr_buf &buffer, proto::Extent extent,
					       proto::RegistrationLimits limits) noexcept
{
	if (extent == proto::Extent::whole)
		return proto::segments_needed(Runs(buffer).shapes(), limits);
	return proto::segments_needed(pages_of(buffer).shape, limits);
}

} // namespace rpcordma::client
