/* SPDX-License-Identifier: GPL-2.0-only */
/* The way of a Call: looked at, refused, read, or handed to the upper layer. call.cc has that of every Call, pull.cc what
 * comes between where there are Read chunks. */
#pragma once

#include "server/backlog.hh"

namespace rpcordma::server {

/* Where the Payload stream of a Call lies. */
struct Arguments {
	std::byte *head;
	u32 head_length;
	page **pages = nullptr;
	u32 page_length = 0;
	std::byte *tail = nullptr;
	u32 tail_length = 0;

	[[nodiscard]] wire::Bytes front() const noexcept { return {head, head_length}; }
};

/* The Calls of one connection. Its backlog has the lock. */
class Calls {
    public:
	explicit Calls(Connection &connection) noexcept;
	[[nodiscard]] Backlog &backlog() noexcept { return backlog_; }

	/* sunrpc's xpo_recvfrom().
	 * Return: the size of the next Call, 0 where there is none yet.
	 * Context: a thread of the service. */
	[[nodiscard]] int receive(svc_rqst *rqst) noexcept;
	/* The RDMA Reads of a Call have completed. In the context of the completion queue. */
	void pulled(Pull &pull) noexcept;

    private:
	[[nodiscard]] int take(verbs::ReceiveBuffer &buffer, svc_rqst *rqst) noexcept;
	[[nodiscard]] int take(const proto::Option &option, verbs::ReceiveBuffer &buffer) noexcept;
	[[nodiscard]] int take(const proto::Call &message, verbs::ReceiveBuffer &buffer, svc_rqst *rqst) noexcept;
	/* Hands a Call to the upper layer. */
	[[nodiscard]] int present(ServedCall &call, const Arguments &stream, svc_rqst *rqst) noexcept;
	[[nodiscard, gnu::noinline]] int refuse(ServedCall &call, const char *reason) noexcept;

	/* pull.cc */
	[[nodiscard]] int pull(ServedCall &call, svc_rqst *rqst) noexcept;
	[[nodiscard]] bool fill(Pull &pull) noexcept;
	[[nodiscard]] int deliver(Pull &pull, svc_rqst *rqst) noexcept;

	Connection &connection_;
	Backlog backlog_;
};

} // namespace rpcordma::server
