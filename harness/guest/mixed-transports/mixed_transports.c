// SPDX-License-Identifier: GPL-2.0-only
/*
 * Has rpcordma and the in-tree rpcrdma in one kernel, each with one half of its transports. Which half is rpcordma's:
 *
 *	ours=none	before rpcrdma is loaded: it finds all places free
 *	ours=client	the server is rpcrdma's
 *	ours=server	the client is rpcrdma's
 *
 * All of it happens while this is loaded. Nothing may use either. The sysctls are rpcrdma's then: those of rpcordma have no names.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xprt.h>
#include <linux/sysctl.h>

static char *ours;
module_param(ours, charp, 0444);
MODULE_PARM_DESC(ours, "rpcordma's half: none, client or server");

static unsigned long (*look_up)(const char *name);

static int find_look_up(void)
{
	struct kprobe probe = {.symbol_name = "kallsyms_lookup_name"};
	int error = register_kprobe(&probe);

	if (error)
		return error;
	look_up = (void *)probe.addr;
	unregister_kprobe(&probe);
	return 0;
}

static int call(const char *name)
{
	int (*function)(void) = (void *)look_up(name);

	return function ? function() : -ENOENT;
}

static int withdraw(const char *name)
{
	void (*function)(void) = (void *)look_up(name);

	if (!function)
		return -ENOENT;
	function();
	return 0;
}

/* rpcordma unregisters these when it is unloaded, unless they are NULL. */
static int forget(const char *name)
{
	struct ctl_table_header **header = (void *)look_up(name);

	if (!header)
		return -ENOENT;
	*header = NULL;
	return 0;
}

/* The names of the sysctls are the same. */
static int make_room(void)
{
	return withdraw("rpcordma:rpcordma_sysctls_unregister")			  ?:
		       forget("rpcordma:client_header")				  ?:
		       forget("rpcordma:server_header")				  ?:
		       withdraw("rpcordma:rpcordma_requester_unregister")	  ?:
		       withdraw("rpcordma:rpcordma_reverse_requester_unregister") ?:
		       withdraw("rpcordma:rpcordma_responder_unregister");
}

/* sunrpc looks at them in the order of their registration, and rpcrdma's reverse direction, which has no netid to end at, must come
 * last.
 */
static int become_client(void)
{
	struct xprt_class *theirs = (void *)look_up("rpcrdma:xprt_rdma");
	struct xprt_class *reverse = (void *)look_up("rpcrdma:xprt_rdma_bc");

	if (!theirs || !reverse)
		return -ENOENT;
	return xprt_unregister_transport(theirs)		    ?:
		       xprt_unregister_transport(reverse)	    ?:
		       call("rpcordma:rpcordma_requester_register") ?:
								      xprt_register_transport(reverse);
}

static int become_server(void)
{
	struct svc_xprt_class *theirs = (void *)look_up("rpcrdma:svc_rdma_class");
	struct xprt_class *reverse = (void *)look_up("rpcrdma:xprt_rdma_bc");

	if (!theirs || !reverse)
		return -ENOENT;
	svc_unreg_xprt_class(theirs);
	return xprt_unregister_transport(reverse)			    ?:
		       call("rpcordma:rpcordma_reverse_requester_register") ?:
		       call("rpcordma:rpcordma_responder_register");
}

static int __init mixed_transports_init(void)
{
	int error = find_look_up();

	if (error || !ours)
		return error ?: -EINVAL;
	if (!strcmp(ours, "none"))
		return make_room();
	if (!strcmp(ours, "client"))
		return become_client();
	return strcmp(ours, "server") ? -EINVAL : become_server();
}

/* rpcordma and rpcrdma put up with what is not registered when they are unloaded. */
static void __exit mixed_transports_exit(void) {}

module_init(mixed_transports_init);
module_exit(mixed_transports_exit);

MODULE_DESCRIPTION("Benchmark: rpcordma at one end, rpcrdma at the other");
MODULE_LICENSE("GPL");
