/* SPDX-License-Identifier: GPL-2.0-only */
/* What happens to a connection now and then, by name. */
#pragma once

#include <optional>

#include "kernel/observed.h"
#include "kernel/tally.hh"
#include "proto/arrival.hh"

namespace rpcordma::verbs {

/* Of both roles. Each is what the field of that name in uapi/rpcordma.yaml says. Any context. */
struct Tallies {
	using Tally = kernel::Tally<RPCORDMA_TALLIED>;

	Tally waits;
	Tally refused;
	Tally errors_sent;
	Tally errors_received;

	/* Counts an RDMA_ERROR that has come; nothing where none has. */
	void received(std::optional<proto::Refusal> error) noexcept
	{
		if (error) [[unlikely]]
			errors_received.count(name_of(*error));
	}
	/* observed.cc */
	void observe(rpcordma_connection &to) const noexcept;
};

} // namespace rpcordma::verbs
