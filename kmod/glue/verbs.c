// SPDX-License-Identifier: GPL-2.0-only
/* Verbs that are inline functions, and scatterlists. */
#include <linux/err.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "kernel/glue.h"

int rpcordma_post_send(struct ib_qp *qp, const struct ib_send_wr *first)
{
	return ib_post_send(qp, first, NULL);
}

int rpcordma_post_recv(struct ib_qp *qp, const struct ib_recv_wr *first)
{
	return ib_post_recv(qp, first, NULL);
}

void *rpcordma_alloc_near(struct ib_device *device, size_t size, gfp_t gfp)
{
	return kzalloc_node(size, gfp, ibdev_to_node(device));
}

u64 rpcordma_map(struct ib_device *device, void *memory, size_t size, unsigned int direction, bool *mapped)
{
	u64 address = ib_dma_map_single(device, memory, size, direction);

	*mapped = !ib_dma_mapping_error(device, address);
	return address;
}

void rpcordma_unmap(struct ib_device *device, u64 address, size_t size, unsigned int direction)
{
	ib_dma_unmap_single(device, address, size, direction);
}

void rpcordma_sync_for_cpu(struct ib_device *device, u64 address, size_t size, unsigned int direction)
{
	ib_dma_sync_single_for_cpu(device, address, size, direction);
}

void rpcordma_sync_for_device(struct ib_device *device, u64 address, size_t size, unsigned int direction)
{
	ib_dma_sync_single_for_device(device, address, size, direction);
}

static int ready(struct rdma_cm_id *id, enum ib_qp_state state, const struct rdma_conn_param *wanted, u8 most_timeout)
{
	struct ib_qp_attr attributes = { .qp_state = state };
	int mask = 0;
	int error = rdma_init_qp_attr(id, &attributes, &mask);

	if (error)
		return error;
	attributes.max_dest_rd_atomic = wanted->responder_resources;
	attributes.max_rd_atomic = wanted->initiator_depth;
	/* Zero stands for no end. */
	attributes.timeout = attributes.timeout ? min(attributes.timeout, most_timeout) : most_timeout;
	attributes.retry_cnt = min(attributes.retry_cnt, wanted->retry_count);
	attributes.rnr_retry = min(attributes.rnr_retry, wanted->rnr_retry_count);
	return ib_modify_qp(id->qp, &attributes, mask);
}

/* Left to itself, rdma_accept() readies the queue pair that it sees with whatever the requester has asked for. */
int rpcordma_accept(struct rdma_cm_id *id, struct rdma_conn_param *wanted, u8 most_timeout)
{
	struct ib_qp *qp = id->qp;
	int error;

	if (!rdma_cap_ib_cm(id->device, id->port_num))
		return rdma_accept(id, wanted);
	error = ready(id, IB_QPS_INIT, wanted, most_timeout);
	if (!error)
		error = ready(id, IB_QPS_RTR, wanted, most_timeout);
	if (!error)
		error = ready(id, IB_QPS_RTS, wanted, most_timeout);
	if (error)
		return error;
	wanted->qp_num = qp->qp_num;
	id->qp = NULL;
	error = rdma_accept(id, wanted);
	id->qp = qp;
	return error;
}

void rpcordma_list_init(struct scatterlist *list, unsigned int entries)
{
	sg_init_table(list, entries);
}

void rpcordma_list_set(struct scatterlist *entry, struct page *page, unsigned int length, unsigned int offset)
{
	sg_set_page(entry, page, length, offset);
}

void rpcordma_list_end(struct scatterlist *last, bool end)
{
	if (end)
		sg_mark_end(last);
	else
		sg_unmark_end(last);
}

int rpcordma_map_list(struct ib_device *device, struct scatterlist *list, int entries, unsigned int direction)
{
	return ib_dma_map_sg(device, list, entries, direction);
}

void rpcordma_unmap_list(struct ib_device *device, struct scatterlist *list, int entries, unsigned int direction)
{
	ib_dma_unmap_sg(device, list, entries, direction);
}

/* ocrdma takes the difference between that address and the first page's for the offset of the first byte. */
bool rpcordma_may_choose_iova(const struct ib_device *device)
{
	return device->ops.driver_id != RDMA_DRIVER_OCRDMA;
}

u32 rpcordma_next_key(struct ib_mr *mr)
{
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	return mr->rkey;
}

bool rpcordma_is_iwarp(struct ib_device *device)
{
	return rdma_protocol_iwarp(device, 1);
}

int rpcordma_pointer_error(const void *pointer)
{
	return PTR_ERR_OR_ZERO(pointer);
}

const char *rpcordma_status_name(unsigned int status)
{
	return ib_wc_status_msg(status);
}

const char *rpcordma_event_name(unsigned int event)
{
	return rdma_event_msg(event);
}

const char *rpcordma_queue_pair_event_name(unsigned int event)
{
	return ib_event_msg(event);
}
