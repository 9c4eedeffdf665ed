// SPDX-License-Identifier: GPL-2.0-only
/* Locks, completions, work and time. */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "kernel/glue.h"

static struct workqueue_struct *queue;
static struct workqueue_struct *attempts;
static struct workqueue_struct *ends;

/* The names that lockdep shows: of the locks' owners. */
static const char *const lock_names[RPCORDMA_LOCKS] = {
	[RPCORDMA_LOCK_OBSERVATORY] = "Observatory",
	[RPCORDMA_LOCK_BACKLOG] = "Backlog",
	[RPCORDMA_LOCK_REPLIES] = "Replies",
	[RPCORDMA_LOCK_REVERSE_REQUESTER] = "ReverseRequester",
	[RPCORDMA_LOCK_OUTBOX] = "Outbox",
	[RPCORDMA_LOCK_LISTENER] = "Listener",
	[RPCORDMA_LOCK_TRANSFER_POOL] = "TransferPool",
	[RPCORDMA_LOCK_RECEIVE_QUEUE] = "ReceiveQueue",
	[RPCORDMA_LOCK_SEND_QUEUE] = "SendQueue",
	[RPCORDMA_LOCK_REGISTRATION_POOL] = "RegistrationPool",
	[RPCORDMA_LOCK_DISCONNECTIONS] = "Disconnections",
	[RPCORDMA_LOCK_CONNECTION] = "Connection",
	[RPCORDMA_LOCK_CONNECTOR] = "Connector",
	[RPCORDMA_LOCK_NEGOTIATOR] = "Negotiator",
	[RPCORDMA_LOCK_KNOWN_VERSIONS] = "KnownVersions",
	[RPCORDMA_LOCK_OUTSTANDING] = "Outstanding",
	[RPCORDMA_LOCK_REVERSE_RESPONDER] = "ReverseResponder",
};

static struct lock_class_key lock_keys[RPCORDMA_LOCKS];

void rpcordma_spin_init(struct spinlock *lock, enum rpcordma_lock kind)
{
	spin_lock_init(lock);
	lockdep_set_class_and_name(lock, &lock_keys[kind], lock_names[kind]);
}

/* The same of works. */
static const char *const work_names[RPCORDMA_WORKS] = {
	[RPCORDMA_WORK_CONNECTION] = "Connection's work", [RPCORDMA_WORK_CONNECTOR] = "Connector's work",
	[RPCORDMA_WORK_ENDPOINT] = "Endpoint's work",	  [RPCORDMA_WORK_DISCONNECTION] = "Disconnection's work",
	[RPCORDMA_WORK_LISTENER] = "Listener's work",	  [RPCORDMA_WORK_NEGOTIATOR] = "Negotiator's work",
	[RPCORDMA_WORK_QUEUES] = "Queues' work",	  [RPCORDMA_WORK_REGISTRATION_POOL] = "RegistrationPool's work",
};

static struct lock_class_key work_keys[RPCORDMA_WORKS];

void rpcordma_work_init(struct work_struct *work, enum rpcordma_work kind, void (*function)(struct work_struct *work))
{
	INIT_WORK(work, function);
	lockdep_init_map(&work->lockdep_map, work_names[kind], &work_keys[kind], 0);
}

void rpcordma_delayed_work_init(struct delayed_work *work, enum rpcordma_work kind,
				void (*function)(struct work_struct *work))
{
	INIT_DELAYED_WORK(work, function);
	lockdep_init_map(&work->work.lockdep_map, work_names[kind], &work_keys[kind], 0);
}

bool rpcordma_queue_work(struct work_struct *work)
{
	return queue_work(queue, work);
}

bool rpcordma_queue_delayed_work(struct delayed_work *work, unsigned long jiffies)
{
	return queue_delayed_work(queue, work, jiffies);
}

void rpcordma_restart_delayed_work(struct delayed_work *work, unsigned long jiffies)
{
	mod_delayed_work(queue, work, jiffies);
}

bool rpcordma_queue_attempt(struct delayed_work *work, unsigned long jiffies)
{
	return queue_delayed_work(attempts, work, jiffies);
}

void rpcordma_queue_end(struct work_struct *work)
{
	queue_work(ends, work);
}

void rpcordma_restart_delayed_end(struct delayed_work *work, unsigned long jiffies)
{
	mod_delayed_work(ends, work, jiffies);
}

void rpcordma_flush_ends(void)
{
	flush_workqueue(ends);
}

int rpcordma_workqueues_create(void)
{
	queue = alloc_workqueue("rpcordma", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!queue)
		return -ENOMEM;
	attempts = alloc_workqueue("rpcordma-connect", WQ_MEM_RECLAIM | WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!attempts)
		goto no_attempts;
	ends = alloc_workqueue("rpcordma-end", WQ_UNBOUND, 0);
	if (!ends)
		goto no_ends;
	return 0;

no_ends:
	destroy_workqueue(attempts);
no_attempts:
	destroy_workqueue(queue);
	return -ENOMEM;
}

void rpcordma_workqueues_destroy(void)
{
	destroy_workqueue(ends);
	destroy_workqueue(attempts);
	destroy_workqueue(queue);
}
