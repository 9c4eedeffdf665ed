// SPDX-License-Identifier: GPL-2.0-only
/* What runs when the module is loaded and unloaded. */
#include <array>
#include <cstddef>

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

struct Part {
	int (*start)();
	void (*stop)();
};

/* In the order of starting. The client before the sysctls, because what it says where the in-tree module is loaded can be
 * explained. The server last: it may have a listener from then on. */
constexpr std::array parts = {
	Part{rpcordma_workqueues_create, rpcordma_workqueues_destroy},
	Part{rpcordma_client_start, rpcordma_client_stop},
	Part{rpcordma_sysctls_register, rpcordma_sysctls_unregister},
	Part{rpcordma_debugfs_create, rpcordma_debugfs_remove},
	Part{rpcordma_server_start, rpcordma_server_stop},
};

void stop_first(std::size_t count) noexcept
{
	while (count-- > 0)
		parts[count].stop();
}

} // namespace

} // namespace rpcordma

using namespace rpcordma;

int rpcordma_start(void)
{
	for (std::size_t started = 0; started < parts.size(); ++started) {
		const int error = parts[started].start();
		if (error == 0)
			continue;
		stop_first(started);
		if (error != -kernel::EEXIST)
			return error;
		rpcordma_log_error("another module serves RPC over RDMA already: unload it (rmmod rpcrdma), "
				   "then load this one; `make install` settles it for good");
		/* modprobe takes EEXIST for success. */
		return -kernel::EBUSY;
	}
	return 0;
}

void rpcordma_print_live_objects(seq_file *file)
{
	for (const LiveObject &kind : kinds)
		seq_printf(file, "%s %ld\n", kind.name, kind.count.load());
}

void rpcordma_stop(void)
{
	stop_first(parts.size());
	for (const LiveObject &kind : kinds) {
		if (const long count = kind.count.load(); count != 0)
			rpcordma_log_error("leaked %s: %ld", kind.name, count);
	}
}
