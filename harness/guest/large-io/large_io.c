// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lets Linux's NFS client use what its transport carries, for as long as the module is loaded. By itself it has no
 * rsize or wsize above 1 MiB (NFS_MAX_FILE_IO_SIZE), no session for larger messages, and no more than a page of pointers
 * to the pages of one READ or WRITE, which is 2 MiB; whatever transport, server and mount option say.
 */
#include <linux/kprobes.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/nfs_fs.h>
#include <linux/nfs_page.h>
#include <linux/nfs_xdr.h>
#include <linux/sunrpc/clnt.h>

static unsigned int most = 4 << 20;
module_param(most, uint, 0444);
MODULE_PARM_DESC(most, "the largest rsize and wsize, in bytes");

static unsigned int raised;
module_param(raised, uint, 0444);
MODULE_PARM_DESC(raised, "how many sizes were raised");

/* A size that is as large as the client lets it be; a server with a smaller limit of its own is left in peace. */
static unsigned int raise(unsigned int size, const struct nfs_server *server)
{
	size_t carried = rounddown_pow_of_two(rpc_max_payload(server->client));

	if (size < NFS_MAX_FILE_IO_SIZE || carried <= size)
		return size;
	raised++;
	return min_t(size_t, carried, most);
}

static int note_server(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	*(struct nfs_server **)instance->data = (struct nfs_server *)regs_get_kernel_argument(regs, 0);
	return 0;
}

/* The sizes of a mount have been worked out. */
static int raise_sizes(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct nfs_server *server = *(struct nfs_server **)instance->data;

	if (regs_return_value(regs))
		return 0;
	server->rsize = raise(server->rsize, server);
	server->rpages = DIV_ROUND_UP(server->rsize, PAGE_SIZE);
	server->wsize = raise(server->wsize, server);
	return 0;
}

/* Before CREATE_SESSION is encoded: its arguments are what the answer is compared with, too. */
static int raise_session(struct kprobe *probe, struct pt_regs *regs)
{
	struct nfs41_create_session_args *args = (struct nfs41_create_session_args *)regs_get_kernel_argument(regs, 2);

	args->fc_attrs.max_rqst_sz += most - NFS_MAX_FILE_IO_SIZE;
	args->fc_attrs.max_resp_sz += most - NFS_MAX_FILE_IO_SIZE;
	return 0;
}

#ifdef CONFIG_X86
#define RESULT "ax"
#else
#define RESULT "x0"
#endif

/* Returns what is in the register of results. */
static noinline notrace unsigned long return_result(void)
{
	register unsigned long result asm(RESULT);

	asm volatile("" : "=r"(result));
	return result;
}

/* What nfs_generic_pg_test() returns where memory for pointers is no matter. */
static int coalesce(struct kprobe *probe, struct pt_regs *regs)
{
	struct nfs_pageio_descriptor *desc = (struct nfs_pageio_descriptor *)regs_get_kernel_argument(regs, 0);
	const struct nfs_page *request = (struct nfs_page *)regs_get_kernel_argument(regs, 2);
	const struct nfs_pgio_mirror *mirror = &desc->pg_mirrors[desc->pg_mirror_idx];

	regs_set_return_value(regs, min_t(size_t, mirror->pg_bsize - mirror->pg_count, request->wb_bytes));
	instruction_pointer_set(regs, (unsigned long)return_result);
	return 1;
}

/* Its presence is what lets the other handler change where execution goes on. */
static void nothing_to_do(struct kprobe *probe, struct pt_regs *regs, unsigned long flags) {}

static struct kretprobe probing = {
	.kp.symbol_name = "nfs_probe_fsinfo",
	.data_size = sizeof(struct nfs_server *),
	.entry_handler = note_server,
	.handler = raise_sizes,
};
static struct kprobe session = {.symbol_name = "nfs4_xdr_enc_create_session", .pre_handler = raise_session};
static struct kprobe test = {
	.symbol_name = "nfs_generic_pg_test",
	.pre_handler = coalesce,
	.post_handler = nothing_to_do,
};
static struct kprobe *probes[] = {&session, &test};

static int __init large_io_init(void)
{
	int error = register_kretprobe(&probing);

	if (error)
		return error;
	error = register_kprobes(probes, ARRAY_SIZE(probes));
	if (error)
		unregister_kretprobe(&probing);
	return error;
}

static void __exit large_io_exit(void)
{
	unregister_kprobes(probes, ARRAY_SIZE(probes));
	unregister_kretprobe(&probing);
}

module_init(large_io_init);
module_exit(large_io_exit);

MODULE_DESCRIPTION("Test: large READs and WRITEs");
MODULE_LICENSE("GPL");
