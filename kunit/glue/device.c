// SPDX-License-Identifier: GPL-2.0-only
/* The fake verbs device of fake.h: its verbs, its queues, and the peer at the other end. */
#include <linux/fault-inject.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "kunit/glue/dma.h"
#include "kunit/glue/fake.h"

#define LKEY 0x4711
#define MOST_ELEMENTS 32
#define LARGEST_MESSAGE 65536

/* A work request as it was posted. */
struct posted {
	struct list_head list;
	struct ib_cqe *cqe;
	enum ib_wr_opcode opcode;
	bool is_signalled;
	u32 elements;
	struct ib_sge element[MOST_ELEMENTS];
	u32 handle;
	u64 remote_offset;
	struct fake_mr *mr;
	u32 access;
};

struct fake_mr {
	struct ib_mr base;
	struct list_head list;
	/* Where its memory is for the device, piece by piece. */
	u32 most;
	u32 count;
	struct ib_sge *pieces;
	bool is_valid;
	u32 access;
};

struct completion_entry {
	struct list_head list;
	struct ib_wc wc;
	/* Slots of the send queue that are known to be free when this has been polled. */
	u32 frees;
};

struct rpcordma_fake {
	struct rpcordma_fake_limits limits;
	struct platform_device *parent;
	struct fake_dma dma;
	struct fake_device *device;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;

	/* Covers the lists: registrations are made by a work queue too. */
	spinlock_t lock;
	struct list_head sends;
	struct list_head receives;
	struct list_head completions;
	struct list_head registrations;
	u32 registration_count;
	unsigned int registration_scope;
	u32 next_key;
	/* Posted, and not known to be done with by a completion that was polled. */
	u32 send_slots;
	/* Executed since the last completion. */
	u32 unreported;
	u32 receive_slots;
	u32 doorbells;
	u32 empty_writes;
	u32 completed;
	bool is_broken;

	u32 fail[RPCORDMA_FAKE_VERBS];
	u32 fail_request;
	u32 fail_status;
	void (*receive_watcher)(void *data);
	void *watcher_data;

	void *remote;
	void *arrived;
	u32 arrived_size;
	u32 arrivals;
	u32 invalidated;
	bool has_invalidated;
	const char *problem;
};

struct fake_device {
	struct ib_device base;
	struct rpcordma_fake *fake;
};

struct fake_pd {
	struct ib_pd base;
};

struct fake_cq {
	struct ib_cq base;
};

struct fake_qp {
	struct ib_qp base;
};

static struct rpcordma_fake *fake_of(struct ib_device *device)
{
	return container_of(device, struct fake_device, base)->fake;
}

static struct fake_mr *mr_of(struct ib_mr *mr)
{
	return container_of(mr, struct fake_mr, base);
}

static void note_problem(struct rpcordma_fake *fake, const char *what)
{
	if (!fake->problem)
		fake->problem = what;
}

static void dma_problem(struct fake_dma *dma, const char *what)
{
	note_problem(container_of(dma, struct rpcordma_fake, dma), what);
}

/* Under the lock. */
static struct fake_mr *mr_by_handle(struct rpcordma_fake *fake, u32 handle)
{
	struct fake_mr *mr;

	list_for_each_entry(mr, &fake->registrations, list) {
		if (mr->is_valid && mr->base.rkey == handle)
			return mr;
	}
	return NULL;
}

static bool holds(const struct ib_sge *element, u64 address, size_t size)
{
	return element->addr >= address && element->addr < address + size;
}

static bool is_posted(struct list_head *queue, u64 address, size_t size)
{
	struct posted *posted;
	u32 i;

	list_for_each_entry(posted, queue, list) {
		for (i = 0; i < posted->elements; i++) {
			if (holds(&posted->element[i], address, size))
				return true;
		}
	}
	return false;
}

static bool is_in_use(struct fake_dma *dma, u64 address, size_t size)
{
	struct rpcordma_fake *fake = container_of(dma, struct rpcordma_fake, dma);
	struct fake_mr *mr;
	unsigned long flags;
	bool used;
	u32 i;

	spin_lock_irqsave(&fake->lock, flags);
	used = is_posted(&fake->sends, address, size) || is_posted(&fake->receives, address, size);
	list_for_each_entry(mr, &fake->registrations, list) {
		for (i = 0; mr->is_valid && !fake->is_broken && i < mr->count; i++)
			used = used || holds(&mr->pieces[i], address, size);
	}
	spin_unlock_irqrestore(&fake->lock, flags);
	return used;
}

/* Verbs without which no device can be registered. */

static int query_device(struct ib_device *device, struct ib_device_attr *attributes, struct ib_udata *data)
{
	const struct rpcordma_fake_limits *limits = &fake_of(device)->limits;

	memset(attributes, 0, sizeof(*attributes));
	attributes->max_qp = 1;
	attributes->max_qp_wr = max(limits->send_depth, limits->receive_depth);
	attributes->max_send_sge = limits->elements;
	attributes->max_recv_sge = limits->elements;
	attributes->max_sge_rd = limits->elements;
	attributes->max_cq = 1;
	attributes->max_cqe = limits->send_depth + limits->receive_depth;
	attributes->max_mr = limits->registrations;
	attributes->max_pd = 1;
	attributes->max_fast_reg_page_list_len = limits->pages;
	attributes->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS;
	attributes->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | (limits->gaps ? IBK_SG_GAPS_REG : 0);
	return 0;
}

static int query_port(struct ib_device *device, u32 port, struct ib_port_attr *attributes)
{
	memset(attributes, 0, sizeof(*attributes));
	attributes->state = IB_PORT_ACTIVE;
	attributes->active_width = IB_WIDTH_1X;
	attributes->active_speed = IB_SPEED_SDR;
	return 0;
}

/* Of a kind that no connection manager knows: the tests' own queue pair is the only one. */
static int get_port_immutable(struct ib_device *device, u32 port, struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_RAW_PACKET;
	return 0;
}

static int alloc_pd(struct ib_pd *pd, struct ib_udata *data)
{
	return 0;
}

static int dealloc_pd(struct ib_pd *pd, struct ib_udata *data)
{
	return 0;
}

static int create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attributes, struct uverbs_attr_bundle *bundle)
{
	return 0;
}

static int destroy_cq(struct ib_cq *cq, struct ib_udata *data)
{
	return 0;
}

static int create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attributes, struct ib_udata *data)
{
	return 0;
}

static int modify_qp(struct ib_qp *qp, struct ib_qp_attr *attributes, int mask, struct ib_udata *data)
{
	return fake_fails(&fake_of(qp->device)->fail[RPCORDMA_FAKE_MODIFY_QP]) ? -EIO : 0;
}

static int destroy_qp(struct ib_qp *qp, struct ib_udata *data)
{
	return 0;
}

static int req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	return 0;
}

static struct ib_mr *get_dma_mr(struct ib_pd *pd, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

#ifdef RPCORDMA_KUNIT_DMA_HINT
#define DMA_HINT struct ib_dmah *hint,
#else
#define DMA_HINT
#endif
static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 address, int access,
				 DMA_HINT struct ib_udata *data)
{
	return ERR_PTR(-EOPNOTSUPP);
}

/* Registrations. */

static struct ib_mr *alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 most)
{
	struct rpcordma_fake *fake = fake_of(pd->device);
	struct fake_mr *mr;
	unsigned long flags;

	if (most > fake->limits.pages || (type == IB_MR_TYPE_SG_GAPS && !fake->limits.gaps)) {
		note_problem(fake, "a registration was made that is beyond the device");
		return ERR_PTR(-EINVAL);
	}
	if (fake->registration_count == fake->limits.registrations || fake_fails(&fake->fail[RPCORDMA_FAKE_ALLOC_MR]))
		return ERR_PTR(-ENOMEM);

	fake->registration_scope = current->flags & (PF_MEMALLOC_NOIO | PF_MEMALLOC);
	mr = fake_alloc(sizeof(*mr));
	if (mr)
		mr->pieces = fake_alloc(most * sizeof(*mr->pieces));
	if (!mr || !mr->pieces) {
		kfree(mr);
		return ERR_PTR(-ENOMEM);
	}
	mr->most = most;
	spin_lock_irqsave(&fake->lock, flags);
	fake->next_key += 0x100;
	mr->base.rkey = fake->next_key;
	mr->base.lkey = fake->next_key;
	fake->registration_count++;
	list_add(&mr->list, &fake->registrations);
	spin_unlock_irqrestore(&fake->lock, flags);
	return &mr->base;
}

static int dereg_mr(struct ib_mr *base, struct ib_udata *data)
{
	struct rpcordma_fake *fake = fake_of(base->device);
	struct fake_mr *mr = mr_of(base);
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	list_del(&mr->list);
	fake->registration_count--;
	spin_unlock_irqrestore(&fake->lock, flags);
	kfree(mr->pieces);
	kfree(mr);
	return 0;
}

static int set_page(struct ib_mr *base, u64 address)
{
	struct fake_mr *mr = mr_of(base);

	if (mr->count == mr->most)
		return -ENOMEM;
	mr->pieces[mr->count++] = (struct ib_sge){ .addr = address, .length = base->page_size };
	return 0;
}

/* Pieces with gaps between them, each as long as it is. */
static int map_gaps(struct fake_mr *mr, struct scatterlist *list, int entries)
{
	struct scatterlist *entry;
	int i;

	mr->base.iova = sg_dma_address(list);
	mr->base.length = 0;
	for_each_sg(list, entry, entries, i) {
		if (mr->count == mr->most)
			break;
		mr->pieces[mr->count++] = (struct ib_sge){ .addr = sg_dma_address(entry), .length = sg_dma_len(entry) };
		mr->base.length += sg_dma_len(entry);
	}
	return i;
}

/* The pages that make up a registration without gaps: the first and the last are not all of it. */
static int map_pages(struct fake_mr *mr, struct scatterlist *list, int entries, unsigned int *offset)
{
	const int mapped = ib_sg_to_pages(&mr->base, list, entries, offset, set_page);
	u64 left = mr->base.length;
	u32 i;

	for (i = 0; i < mr->count; i++) {
		struct ib_sge *piece = &mr->pieces[i];

		if (i == 0) {
			piece->length -= offset_in_page(mr->base.iova);
			piece->addr += offset_in_page(mr->base.iova);
		}
		piece->length = min_t(u64, piece->length, left);
		left -= piece->length;
	}
	return mapped;
}

static int map_mr_sg(struct ib_mr *base, struct scatterlist *list, int entries, unsigned int *offset)
{
	struct rpcordma_fake *fake = fake_of(base->device);
	struct fake_mr *mr = mr_of(base);

	if (mr->is_valid)
		note_problem(fake, "a registration was mapped anew that is still valid");
	if (fake_fails(&fake->fail[RPCORDMA_FAKE_MAP_MR]))
		return -ENOMEM;
	/* As some devices say the same. */
	if (fake_fails(&fake->fail[RPCORDMA_FAKE_MAP_MR_NONE]))
		return 0;
	mr->count = 0;
	return base->type == IB_MR_TYPE_SG_GAPS ? map_gaps(mr, list, entries) : map_pages(mr, list, entries, offset);
}

/* Posting. */

static bool check_elements(struct rpcordma_fake *fake, const struct ib_sge *element, int count)
{
	int i;

	if (count > fake->limits.elements) {
		note_problem(fake, "a work request has more elements than the device takes");
		return false;
	}
	for (i = 0; i < count; i++) {
		if (element[i].lkey != LKEY)
			note_problem(fake, "an element has another key than that of the protection domain");
	}
	return true;
}

static struct posted *posted_from(const struct ib_send_wr *request)
{
	struct posted *posted = fake_alloc(sizeof(*posted));

	if (!posted)
		return NULL;
	posted->cqe = request->wr_cqe;
	posted->opcode = request->opcode;
	posted->is_signalled = request->send_flags & IB_SEND_SIGNALED;
	posted->handle = request->ex.invalidate_rkey;
	switch (request->opcode) {
	case IB_WR_REG_MR:
		posted->mr = mr_of(reg_wr(request)->mr);
		posted->handle = reg_wr(request)->key;
		posted->access = reg_wr(request)->access;
		return posted;
	case IB_WR_LOCAL_INV:
		return posted;
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_WRITE:
		posted->handle = rdma_wr(request)->rkey;
		posted->remote_offset = rdma_wr(request)->remote_addr;
		break;
	default:
		break;
	}
	posted->elements = min(request->num_sge, MOST_ELEMENTS);
	memcpy(posted->element, request->sg_list, posted->elements * sizeof(*posted->element));
	return posted;
}

static int post_one_send(struct rpcordma_fake *fake, const struct ib_send_wr *request)
{
	struct posted *posted;
	unsigned long flags;

	if (fake->is_broken || fake_fails(&fake->fail[RPCORDMA_FAKE_POST_SEND]))
		return -EIO;
	if (fake->send_slots == fake->limits.send_depth) {
		note_problem(fake, "the send queue was filled beyond its depth");
		return -ENOMEM;
	}
	if (request->opcode != IB_WR_REG_MR && request->opcode != IB_WR_LOCAL_INV &&
	    !check_elements(fake, request->sg_list, request->num_sge))
		return -EINVAL;
	posted = posted_from(request);
	if (!posted)
		return -ENOMEM;
	spin_lock_irqsave(&fake->lock, flags);
	list_add_tail(&posted->list, &fake->sends);
	fake->send_slots++;
	spin_unlock_irqrestore(&fake->lock, flags);
	return 0;
}

static int post_send(struct ib_qp *qp, const struct ib_send_wr *request, const struct ib_send_wr **bad)
{
	struct rpcordma_fake *fake = fake_of(qp->device);
	int error;

	fake->doorbells++;
	for (; request; request = request->next) {
		error = post_one_send(fake, request);
		if (error) {
			*bad = request;
			return error;
		}
	}
	return 0;
}

static int post_one_receive(struct rpcordma_fake *fake, const struct ib_recv_wr *request)
{
	struct posted *posted;
	unsigned long flags;

	if (fake->is_broken || fake_fails(&fake->fail[RPCORDMA_FAKE_POST_RECEIVE]))
		return -EIO;
	if (fake->receive_slots == fake->limits.receive_depth) {
		note_problem(fake, "the receive queue was filled beyond its depth");
		return -ENOMEM;
	}
	if (!check_elements(fake, request->sg_list, request->num_sge))
		return -EINVAL;
	posted = fake_alloc(sizeof(*posted));
	if (!posted)
		return -ENOMEM;
	posted->cqe = request->wr_cqe;
	posted->elements = 1;
	posted->element[0] = request->sg_list[0];
	spin_lock_irqsave(&fake->lock, flags);
	list_add_tail(&posted->list, &fake->receives);
	fake->receive_slots++;
	spin_unlock_irqrestore(&fake->lock, flags);
	return 0;
}

static int post_recv(struct ib_qp *qp, const struct ib_recv_wr *request, const struct ib_recv_wr **bad)
{
	struct rpcordma_fake *fake = fake_of(qp->device);
	int error;

	for (; request; request = request->next) {
		if (fake->receive_watcher)
			fake->receive_watcher(fake->watcher_data);
		error = post_one_receive(fake, request);
		if (error) {
			*bad = request;
			return error;
		}
	}
	return 0;
}

/* Completing. */

static void add_completion(struct rpcordma_fake *fake, struct posted *posted, const struct ib_wc *wc, u32 frees)
{
	struct completion_entry *entry = fake_alloc(sizeof(*entry));
	unsigned long flags;

	if (!entry) {
		note_problem(fake, "(the test has no memory for a completion)");
		return;
	}
	entry->wc = *wc;
	entry->wc.wr_cqe = posted->cqe;
	entry->wc.qp = fake->qp;
	entry->frees = frees;
	spin_lock_irqsave(&fake->lock, flags);
	list_add_tail(&entry->list, &fake->completions);
	spin_unlock_irqrestore(&fake->lock, flags);
}

/* A send request is done with: heard of only if it is signalled or failed. */
static void finish_send(struct rpcordma_fake *fake, struct posted *posted, enum ib_wc_status status)
{
	const struct ib_wc wc = { .status = status };

	fake->unreported++;
	if (posted->is_signalled || status != IB_WC_SUCCESS) {
		add_completion(fake, posted, &wc, fake->unreported);
		fake->unreported = 0;
	}
	kfree(posted);
}

static struct posted *take_first(struct rpcordma_fake *fake, struct list_head *queue)
{
	struct posted *first;
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	first = list_first_entry_or_null(queue, struct posted, list);
	if (first)
		list_del(&first->list);
	spin_unlock_irqrestore(&fake->lock, flags);
	return first;
}

static int poll_cq(struct ib_cq *cq, int most, struct ib_wc *wc)
{
	struct rpcordma_fake *fake = fake_of(cq->device);
	int polled;

	for (polled = 0; polled < most; polled++) {
		struct completion_entry *entry;
		unsigned long flags;

		spin_lock_irqsave(&fake->lock, flags);
		entry = list_first_entry_or_null(&fake->completions, struct completion_entry, list);
		if (entry) {
			list_del(&entry->list);
			fake->completed++;
			fake->send_slots -= entry->frees;
		}
		spin_unlock_irqrestore(&fake->lock, flags);
		if (!entry)
			break;
		wc[polled] = entry->wc;
		kfree(entry);
	}
	return polled;
}

/* Executing. */

/* Goes through the elements, and the peer's memory beside them. */
static enum ib_wc_status execute_rdma(struct rpcordma_fake *fake, struct posted *posted)
{
	u64 offset = posted->remote_offset - RPCORDMA_FAKE_REMOTE_OFFSET;
	u32 i;

	fake->empty_writes += posted->opcode == IB_WR_RDMA_WRITE && posted->elements == 0;
	for (i = 0; i < posted->elements; i++) {
		const struct ib_sge *element = &posted->element[i];
		bool done;

		if (posted->handle != RPCORDMA_FAKE_REMOTE_HANDLE ||
		    offset + element->length > RPCORDMA_FAKE_REMOTE_SIZE)
			return IB_WC_REM_ACCESS_ERR;
		done = posted->opcode == IB_WR_RDMA_READ ?
			       fake_dma_write(&fake->dma, element->addr, fake->remote + offset, element->length) :
			       fake_dma_read(&fake->dma, element->addr, fake->remote + offset, element->length);
		if (!done)
			return IB_WC_LOC_PROT_ERR;
		offset += element->length;
	}
	return IB_WC_SUCCESS;
}

static enum ib_wc_status execute_send(struct rpcordma_fake *fake, struct posted *posted)
{
	u32 i;

	fake->arrived_size = 0;
	for (i = 0; i < posted->elements; i++) {
		const struct ib_sge *element = &posted->element[i];

		if (fake->arrived_size + element->length > LARGEST_MESSAGE)
			return IB_WC_LOC_LEN_ERR;
		if (!fake_dma_read(&fake->dma, element->addr, fake->arrived + fake->arrived_size, element->length))
			return IB_WC_LOC_PROT_ERR;
		fake->arrived_size += element->length;
	}
	fake->arrivals++;
	fake->has_invalidated = posted->opcode == IB_WR_SEND_WITH_INV;
	fake->invalidated = posted->handle;
	return IB_WC_SUCCESS;
}

static enum ib_wc_status execute_register(struct rpcordma_fake *fake, struct posted *posted)
{
	if (posted->mr->is_valid) {
		note_problem(fake, "a registration was registered that is still valid");
		return IB_WC_MW_BIND_ERR;
	}
	posted->mr->is_valid = true;
	posted->mr->access = posted->access;
	posted->mr->base.rkey = posted->handle;
	return IB_WC_SUCCESS;
}

static enum ib_wc_status execute_invalidate(struct rpcordma_fake *fake, struct posted *posted)
{
	struct fake_mr *mr;
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	mr = mr_by_handle(fake, posted->handle);
	if (mr)
		mr->is_valid = false;
	spin_unlock_irqrestore(&fake->lock, flags);
	if (!mr)
		note_problem(fake, "a handle was invalidated that is not valid");
	return mr ? IB_WC_SUCCESS : IB_WC_LOC_QP_OP_ERR;
}

static enum ib_wc_status execute_one(struct rpcordma_fake *fake, struct posted *posted)
{
	if (fake_fails(&fake->fail_request))
		return fake->fail_status;
	switch (posted->opcode) {
	case IB_WR_REG_MR:
		return execute_register(fake, posted);
	case IB_WR_LOCAL_INV:
		return execute_invalidate(fake, posted);
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_INV:
		return execute_send(fake, posted);
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_WRITE:
		return execute_rdma(fake, posted);
	default:
		note_problem(fake, "a work request is of no kind that the device knows");
		return IB_WC_LOC_QP_OP_ERR;
	}
}

void rpcordma_fake_execute(struct rpcordma_fake *fake, u32 most)
{
	while (most-- != 0) {
		struct posted *posted = take_first(fake, &fake->sends);
		enum ib_wc_status status;

		if (!posted)
			return;
		status = execute_one(fake, posted);
		finish_send(fake, posted, status);
		if (status != IB_WC_SUCCESS) {
			rpcordma_fake_break(fake);
			return;
		}
	}
}

void rpcordma_fake_break(struct rpcordma_fake *fake)
{
	const struct ib_wc flushed = { .status = IB_WC_WR_FLUSH_ERR };
	struct posted *posted;

	fake->is_broken = true;
	while ((posted = take_first(fake, &fake->sends)))
		finish_send(fake, posted, IB_WC_WR_FLUSH_ERR);
	while ((posted = take_first(fake, &fake->receives))) {
		fake->receive_slots--;
		add_completion(fake, posted, &flushed, 0);
		kfree(posted);
	}
}

void rpcordma_fake_mend(struct rpcordma_fake *fake)
{
	fake->is_broken = false;
}

void rpcordma_fake_complete(struct rpcordma_fake *fake)
{
	ib_process_cq_direct(fake->cq, -1);
}

/* The peer. */

bool rpcordma_fake_deliver(struct rpcordma_fake *fake, const void *message, u32 size, const u32 *invalidate)
{
	struct posted *posted;
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .opcode = IB_WC_RECV, .byte_len = size };
	struct fake_mr *mr = NULL;
	unsigned long flags;

	if (invalidate) {
		spin_lock_irqsave(&fake->lock, flags);
		mr = mr_by_handle(fake, *invalidate);
		if (mr)
			mr->is_valid = false;
		spin_unlock_irqrestore(&fake->lock, flags);
		wc.wc_flags = IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = *invalidate;
	}
	posted = take_first(fake, &fake->receives);
	if (!posted)
		return false;
	fake->receive_slots--;
	if (size > posted->element[0].length)
		wc.status = IB_WC_LOC_LEN_ERR;
	else if (!fake_dma_write(&fake->dma, posted->element[0].addr, message, size))
		wc.status = IB_WC_LOC_PROT_ERR;
	add_completion(fake, posted, &wc, 0);
	kfree(posted);
	return !invalidate || mr;
}

bool rpcordma_fake_deliver_immediate(struct rpcordma_fake *fake, u32 size)
{
	struct ib_wc wc = { .status = IB_WC_SUCCESS,
			    .opcode = IB_WC_RECV_RDMA_WITH_IMM,
			    .wc_flags = IB_WC_WITH_IMM,
			    .byte_len = size };
	struct posted *posted = take_first(fake, &fake->receives);

	if (!posted)
		return false;
	fake->receive_slots--;
	add_completion(fake, posted, &wc, 0);
	kfree(posted);
	return true;
}

u32 rpcordma_fake_arrived(struct rpcordma_fake *fake, const void **message, u32 *size)
{
	*message = fake->arrived;
	*size = fake->arrived_size;
	return fake->arrivals;
}

bool rpcordma_fake_invalidated(struct rpcordma_fake *fake, u32 *handle)
{
	*handle = fake->invalidated;
	return fake->has_invalidated;
}

/* What of a registration is at that offset. False where the peer may not have it. */
static bool reach(struct rpcordma_fake *fake, u32 handle, u64 offset, u32 access, struct ib_sge *found)
{
	struct fake_mr *mr;
	unsigned long flags;
	bool is_found = false;
	u32 i;

	spin_lock_irqsave(&fake->lock, flags);
	mr = mr_by_handle(fake, handle);
	if (mr && offset >= mr->base.iova && (mr->access & access) && !fake->is_broken) {
		u64 left = offset - mr->base.iova;

		for (i = 0; i < mr->count && !is_found; i++) {
			is_found = left < mr->pieces[i].length;
			if (is_found)
				*found = (struct ib_sge){ .addr = mr->pieces[i].addr + left,
							  .length = mr->pieces[i].length - left };
			else
				left -= mr->pieces[i].length;
		}
	}
	spin_unlock_irqrestore(&fake->lock, flags);
	return is_found;
}

bool rpcordma_fake_peer_read(struct rpcordma_fake *fake, u32 handle, u64 offset, void *to, u32 size)
{
	while (size != 0) {
		struct ib_sge piece;
		u32 length;

		if (!reach(fake, handle, offset, IB_ACCESS_REMOTE_READ, &piece))
			return false;
		length = min(size, piece.length);
		if (!fake_dma_read(&fake->dma, piece.addr, to, length))
			return false;
		offset += length;
		to += length;
		size -= length;
	}
	return true;
}

bool rpcordma_fake_peer_write(struct rpcordma_fake *fake, u32 handle, u64 offset, const void *from, u32 size)
{
	while (size != 0) {
		struct ib_sge piece;
		u32 length;

		if (!reach(fake, handle, offset, IB_ACCESS_REMOTE_WRITE, &piece))
			return false;
		length = min(size, piece.length);
		if (!fake_dma_write(&fake->dma, piece.addr, from, length))
			return false;
		offset += length;
		from += length;
		size -= length;
	}
	return true;
}

/* The device's life. */

static const struct ib_device_ops fake_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,

	.alloc_mr = alloc_mr,
	.alloc_pd = alloc_pd,
	.create_cq = create_cq,
	.create_qp = create_qp,
	.dealloc_pd = dealloc_pd,
	.dereg_mr = dereg_mr,
	.destroy_cq = destroy_cq,
	.destroy_qp = destroy_qp,
	.get_dma_mr = get_dma_mr,
	.get_port_immutable = get_port_immutable,
	.map_mr_sg = map_mr_sg,
	.modify_qp = modify_qp,
	.poll_cq = poll_cq,
	.post_recv = post_recv,
	.post_send = post_send,
	.query_device = query_device,
	.query_port = query_port,
	.reg_user_mr = reg_user_mr,
	.req_notify_cq = req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, fake_cq, base),
	INIT_RDMA_OBJ_SIZE(ib_pd, fake_pd, base),
	INIT_RDMA_OBJ_SIZE(ib_qp, fake_qp, base),
};

static int register_device(struct rpcordma_fake *fake)
{
	struct ib_device *device;
	int error;

	fake->device = ib_alloc_device(fake_device, base);
	if (!fake->device)
		return -ENOMEM;
	fake->device->fake = fake;
	device = &fake->device->base;
	device->node_type = RDMA_NODE_RNIC;
	device->phys_port_cnt = 1;
	device->num_comp_vectors = 1;
	device->local_dma_lkey = LKEY;
	device->dev.parent = &fake->parent->dev;
	ib_set_device_ops(device, &fake_ops);
	query_device(device, &device->attrs, NULL);
	error = ib_register_device(device, "fake%d", &fake->parent->dev);
	if (error) {
		ib_dealloc_device(device);
		fake->device = NULL;
	}
	return error;
}

static int create_objects(struct rpcordma_fake *fake)
{
	struct ib_device *device = &fake->device->base;
	struct ib_qp_init_attr attributes = { .qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR };
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;

	pd = ib_alloc_pd(device, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	fake->pd = pd;
	cq = ib_alloc_cq(device, fake, device->attrs.max_cqe, 0, IB_POLL_DIRECT);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	fake->cq = cq;

	attributes.send_cq = cq;
	attributes.recv_cq = cq;
	attributes.cap.max_send_wr = fake->limits.send_depth;
	attributes.cap.max_recv_wr = fake->limits.receive_depth;
	attributes.cap.max_send_sge = fake->limits.elements;
	attributes.cap.max_recv_sge = fake->limits.elements;
	qp = ib_create_qp(pd, &attributes);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	fake->qp = qp;
	return 0;
}

static const char *last_problem;

static void look_for_leftovers(struct rpcordma_fake *fake)
{
	if (fake->registration_count != 0)
		note_problem(fake, "registrations were left behind");
	if (fake->dma.count != 0)
		note_problem(fake, "memory was left mapped");
}

static void destroy_objects(struct rpcordma_fake *fake)
{
	if (fake->qp)
		ib_destroy_qp(fake->qp);
	if (fake->cq)
		ib_free_cq(fake->cq);
	if (fake->pd)
		ib_dealloc_pd(fake->pd);
	if (fake->device) {
		ib_unregister_device(&fake->device->base);
		ib_dealloc_device(&fake->device->base);
	}
	if (fake->parent)
		platform_device_unregister(fake->parent);
}

void rpcordma_fake_destroy(struct rpcordma_fake *fake)
{
	if (fake->qp) {
		rpcordma_fake_break(fake);
		rpcordma_fake_complete(fake);
	}
	look_for_leftovers(fake);
	last_problem = fake->problem;
	/* What is still mapped or registered has been told of, and would keep the device for good. */
	if (fake->registration_count == 0)
		destroy_objects(fake);
	kvfree(fake->remote);
	kvfree(fake->arrived);
	kfree(fake);
}

struct rpcordma_fake *rpcordma_fake_create(const struct rpcordma_fake_limits *limits)
{
	struct rpcordma_fake *fake = kzalloc(sizeof(*fake), GFP_KERNEL);

	last_problem = NULL;
	if (!fake)
		return NULL;
	fake->limits = *limits;
	spin_lock_init(&fake->lock);
	INIT_LIST_HEAD(&fake->sends);
	INIT_LIST_HEAD(&fake->receives);
	INIT_LIST_HEAD(&fake->completions);
	INIT_LIST_HEAD(&fake->registrations);
	fake->dma.problem = dma_problem;
	fake->dma.is_in_use = is_in_use;
	fake->remote = kvzalloc(RPCORDMA_FAKE_REMOTE_SIZE, GFP_KERNEL);
	fake->arrived = kvzalloc(LARGEST_MESSAGE, GFP_KERNEL);

	fake->parent = platform_device_register_simple("rpcordma_fake", PLATFORM_DEVID_AUTO, NULL, 0);
	if (IS_ERR(fake->parent)) {
		fake->parent = NULL;
		goto failed;
	}
	fake_dma_init(&fake->dma, &fake->parent->dev);
	if (!fake->remote || !fake->arrived || register_device(fake) || create_objects(fake))
		goto failed;
	return fake;

failed:
	rpcordma_fake_destroy(fake);
	return NULL;
}

const char *rpcordma_fake_problem(struct rpcordma_fake *fake)
{
	return fake ? fake->problem : last_problem;
}

struct ib_device *rpcordma_fake_device(struct rpcordma_fake *fake)
{
	return &fake->device->base;
}

struct ib_pd *rpcordma_fake_pd(struct rpcordma_fake *fake)
{
	return fake->pd;
}

struct ib_qp *rpcordma_fake_qp(struct rpcordma_fake *fake)
{
	return fake->qp;
}

u32 rpcordma_fake_lkey(void)
{
	return LKEY;
}

void rpcordma_fake_fail(struct rpcordma_fake *fake, enum rpcordma_fake_verb verb, u32 nth)
{
	if (verb == RPCORDMA_FAKE_DMA_MAP)
		fake->dma.fail_nth = nth;
	else
		fake->fail[verb] = nth;
}

void rpcordma_fake_register_reads(struct rpcordma_fake *fake, bool on)
{
	u32 *flags = &fake->device->base.port_data[1].immutable.core_cap_flags;

	if (on)
		*flags |= RDMA_CORE_CAP_PROT_IWARP;
	else
		*flags &= ~RDMA_CORE_CAP_PROT_IWARP;
}

void rpcordma_fake_be_soft_iwarp(struct rpcordma_fake *fake)
{
	fake->device->base.ops.driver_id = RDMA_DRIVER_SIW;
}

void rpcordma_fake_watch_receives(struct rpcordma_fake *fake, void (*watcher)(void *data), void *data)
{
	fake->receive_watcher = watcher;
	fake->watcher_data = data;
}

void rpcordma_fake_fail_request(struct rpcordma_fake *fake, u32 nth, u32 status)
{
	fake->fail_request = nth;
	fake->fail_status = status;
}

u32 rpcordma_fake_sends_posted(struct rpcordma_fake *fake)
{
	return list_count_nodes(&fake->sends);
}

u32 rpcordma_fake_receives_posted(struct rpcordma_fake *fake)
{
	return fake->receive_slots;
}

u32 rpcordma_fake_doorbells(struct rpcordma_fake *fake)
{
	return fake->doorbells;
}

u32 rpcordma_fake_empty_writes(struct rpcordma_fake *fake)
{
	return fake->empty_writes;
}

u32 rpcordma_fake_completions(struct rpcordma_fake *fake)
{
	return fake->completed;
}

u32 rpcordma_fake_dma_mappings(struct rpcordma_fake *fake)
{
	return fake->dma.count;
}

u32 rpcordma_fake_registrations(struct rpcordma_fake *fake)
{
	return fake->registration_count;
}

bool rpcordma_fake_registration_could_wait(struct rpcordma_fake *fake)
{
	return !(fake->registration_scope & PF_MEMALLOC_NOIO);
}

bool rpcordma_fake_registration_had_reserves(struct rpcordma_fake *fake)
{
	return fake->registration_scope & PF_MEMALLOC;
}

void *rpcordma_fake_remote(struct rpcordma_fake *fake)
{
	return fake->remote;
}

struct page *rpcordma_fake_page(void)
{
	return alloc_page(GFP_KERNEL | __GFP_ZERO);
}

void *rpcordma_fake_page_address(struct page *page)
{
	return page_address(page);
}

void rpcordma_fake_free_page(struct page *page)
{
	__free_page(page);
}

u32 rpcordma_fake_fail_allocation(u32 nth)
{
	const u32 left = current->fail_nth;

	current->fail_nth = nth;
	return left;
}
