// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/live.hh"

#include "kernel/glue.h"
#include "verbs/live_objects.h"

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

void rpcordma_print_live_objects(seq_file *file)
{
	for (const LiveObject &kind : kinds)
		seq_printf(file, "%s %ld\n", kind.name, kind.count.load());
}

void rpcordma_log_leaks(void)
{
	for (const LiveObject &kind : kinds) {
		if (const long count = kind.count.load(); count != 0)
			rpcordma_log_error("leaked %s: %ld", kind.name, count);
	}
}
