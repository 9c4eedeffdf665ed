// SPDX-License-Identifier: GPL-2.0-only
/* What runs when the module is loaded and unloaded. */
#include "kernel/entry.h"
#include "kernel/glue.h"
#include "verbs/live.hh"

namespace rpcordma {

constinit LiveObjects live_objects{};

namespace {

struct LiveObject {
	const char *name;
	const std::atomic<long> &count;
};

constexpr LiveObject kinds[] = {
	{"transports", live_objects.transports},
	{"endpoints", live_objects.endpoints},
	{"requests", live_objects.requests},
	{"registrations", live_objects.registrations},
	{"mapped_pages", live_objects.mapped_pages},
	{"receive_buffers", live_objects.receive_buffers},
	{"send_buffers", live_objects.send_buffers},
	{"transfers", live_objects.transfers},
	{"listeners", live_objects.listeners},
	{"connect_requests", live_objects.connect_requests},
	{"connections", live_objects.connections},
	{"calls", live_objects.calls},
	{"pulls", live_objects.pulls},
	{"pushes", live_objects.pushes},
	{"offered_calls", live_objects.offered_calls},
	{"held_pages", live_objects.held_pages},
};

} // namespace

} // namespace rpcordma

using namespace rpcordma;

int rpcordma_start(void)
{
	if (const int error = rpcordma_workqueue_create(); error != 0)
		return error;
	if (const int error = rpcordma_sysctls_register(); error != 0) {
		rpcordma_workqueue_destroy();
		return error;
	}
	/* The server last: it may have a listener from then on. */
	int error = rpcordma_client_start();
	if (error == 0) {
		error = rpcordma_server_start();
		if (error == 0)
			return 0;
		rpcordma_client_stop();
	}
	if (error == -kernel::EEXIST)
		rpcordma_log_error("another module serves RPC over RDMA already: unload it (modprobe -r rpcrdma), "
				   "then load this one; `make install` settles it for good");
	rpcordma_sysctls_unregister();
	rpcordma_workqueue_destroy();
	return error;
}

void rpcordma_stop(void)
{
	rpcordma_server_stop();
	rpcordma_client_stop();
	rpcordma_sysctls_unregister();
	rpcordma_workqueue_destroy();
	for (const LiveObject &kind : kinds) {
		if (const long count = kind.count.load(); count != 0)
			rpcordma_log_error("leaked %s: %ld", kind.name, count);
	}
}
