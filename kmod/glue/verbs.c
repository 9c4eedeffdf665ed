// SPDX-License-Identifier: GPL-2.0-only
/* Verbs of several steps. */
#include <linux/completion.h>
#include <linux/delay.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "kernel/glue.h"

#define DRAIN_AGAIN_MS 20

u64 rpcordma_map(struct ib_device *device, void *memory, size_t size, unsigned int direction, bool *mapped)
{
	u64 address = ib_dma_map_single(device, memory, size, direction);

	*mapped = !ib_dma_mapping_error(device, address);
	return address;
}

/* The work request behind all others of a queue. */
struct last {
	struct ib_cqe cqe;
	struct completion done;
};

static void last_is_done(struct ib_cq *cq, struct ib_wc *completion)
{
	complete(&container_of(completion->wr_cqe, struct last, cqe)->done);
}

static struct ib_cqe *begin(struct last *last)
{
	last->cqe.done = last_is_done;
	init_completion(&last->done);
	return &last->cqe;
}

/* A queue that takes nothing any more, not even this, is given up. */
static void wait_for(struct last *last, int error)
{
	if (!WARN_ONCE(error, "rpcordma: a queue cannot be drained: %d\n", error))
		wait_for_completion(&last->done);
}

static void drain_sends(struct ib_qp *qp)
{
	struct last last;
	struct ib_rdma_wr request = { .wr = { .wr_cqe = begin(&last), .opcode = IB_WR_RDMA_WRITE } };

	wait_for(&last, ib_post_send(qp, &request.wr, NULL));
}

static void drain_receives(struct ib_qp *qp)
{
	struct last last;
	struct ib_recv_wr request = { .wr_cqe = begin(&last) };

	wait_for(&last, ib_post_recv(qp, &request, NULL));
}

void rpcordma_drain(struct ib_qp *qp)
{
	struct ib_qp_attr error_state = { .qp_state = IB_QPS_ERR };
	int error;

	while ((error = ib_modify_qp(qp, &error_state, IB_QP_STATE)) == -ENOMEM)
		msleep(DRAIN_AGAIN_MS);
	/*
	 * ib_drain_qp() changes the state again for each queue, and where that fails it returns at once, as if
	 * nothing were posted any more. Devices that drain in a way of their own leave no choice.
	 */
	if (qp->device->ops.drain_sq || qp->device->ops.drain_rq) {
		ib_drain_qp(qp);
		return;
	}
	/* Nothing would flush the queues of a device that does not obey, which takes work requests all the same. */
	if (error) {
		rpcordma_log_peer("device %s cannot stop a queue pair (error %d): reset the device",
				  dev_name(&qp->device->dev), error);
		return;
	}
	drain_sends(qp);
	drain_receives(qp);
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
	/* Neither is needed. An alternate path would come with a timeout of the requester's choice. */
	mask &= ~(IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE);
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
