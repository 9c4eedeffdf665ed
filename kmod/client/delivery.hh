/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of an RPC: sunrpc is handed a Reply, or one from which it makes an error. */
#pragma once

#include "client/request.hh"

namespace rpcordma::client {

class Transport;

/* Hands an accepted Reply to sunrpc, and gives its receive buffer back. The peer does not reach the RPC's memory any more.
 * Neither the request nor the RPC is ours afterwards. Context: a completion. */
void deliver(Transport &transport, Request &request) noexcept;
/* Ends an RPC whose Call can never be sent, with EIO. Return: what send() returns for it. Context: the send lock. */
[[nodiscard]] int fail_unsent(Transport &transport, rpc_rqst *rqst) noexcept;
/* Unpins an RPC that does not get the Reply in `buffer`, and gives the buffer back. Context: a completion, or a sweep. */
[[gnu::noinline]] void let_go(Transport &transport, rpc_rqst *rqst, verbs::ReceiveBuffer &buffer) noexcept;
/* Traces, counts and logs why a Reply is not taken. Context: any. */
[[gnu::noinline]] void refused(Transport &transport, wire::Xid xid, const char *reason) noexcept;

} // namespace rpcordma::client
