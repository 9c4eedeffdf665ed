// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/live.hh"

#include "kernel/glue.h"
#include "verbs/live_objects.h"

namespace rpcordma {

constinit LiveObjects live_objects{};

namespace {

struct LiveObject {
	const char *name;
	const kernel::Atomic<long> &count;
};

constexpr LiveObject kinds[] = {
#define KIND(name) {#name, live_objects.name},
	RPCORDMA_EACH_LIVE_OBJECT(KIND)
#undef KIND
};

} // namespace

} // namespace rpcordma

using namespace rpcordma;

int rpcordma_live_objects_show(seq_file *file, void *)
{
	for (const LiveObject &kind : kinds)
		seq_printf(file, "%s %ld\n", kind.name, kind.count.read());
	return 0;
}

void rpcordma_log_leaks(void)
{
	for (const LiveObject &kind : kinds) {
		if (const long count = kind.count.read(); count != 0)
			rpcordma_log_error("leaked %s: %ld", kind.name, count);
	}
}
