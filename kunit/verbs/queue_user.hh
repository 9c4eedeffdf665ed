/* SPDX-License-Identifier: GPL-2.0-only */
/* A user of queues that takes no notice: tests override what they expect. */
#pragma once

#include "verbs/queue_user.hh"

namespace rpcordma::kunit {

struct QueueUser : verbs::QueueUser {
	void received(verbs::ReceiveBuffer &) noexcept override {}
	void room() noexcept override {}
	void failed(const char *, const char *) noexcept override {}

    protected:
	~QueueUser() = default;
};

} // namespace rpcordma::kunit
