// SPDX-License-Identifier: GPL-2.0-only
#include "client/statistics.hh"

namespace rpcordma::client {

namespace field = kernel::field;

/* The columns are those of the in-tree module; what has no meaning here is 0. */
void Statistics::print(seq_file *file, rpc_xprt *xprt, unsigned long registrations) const noexcept
{
	const bool connected = rpcordma_xprt_connected(xprt);
	const long idle = connected ? static_cast<long>(rpcordma_jiffies() - field::rpc_xprt::last_used(xprt)) /
					      static_cast<long>(kernel::HZ) :
				      0;

	seq_printf(file, "\txprt:\trdma %u %lu %lu %lu %ld %lu %lu %lu %llu %llu ", 0,
		   field::rpc_xprt::bind_count(xprt), field::rpc_xprt::connect_count(xprt),
		   field::rpc_xprt::connect_time(xprt) / kernel::HZ, idle, field::rpc_xprt::sends(xprt),
		   field::rpc_xprt::recvs(xprt), field::rpc_xprt::bad_xids(xprt), field::rpc_xprt::req_u(xprt),
		   field::rpc_xprt::bklog_u(xprt));
	seq_printf(file, "%lu %lu %lu %lu %lu %lu %lu %lu %lu %lu %lu ", read_chunks.read(), write_chunks.read(),
		   reply_chunks.read(), request_bytes.read(), reply_bytes(), pulled_up.read(), fixed_up.read(), 0ul,
		   failed_marshal.read(), bad_replies.read(), nomsg_calls.read());
	seq_printf(file, "%lu %lu %lu %lu %lu %lu\n", 0ul, registrations_lost.read(), registrations,
		   local_invalidations.read(), no_send_room.read(), 0ul);
}

} // namespace rpcordma::client
