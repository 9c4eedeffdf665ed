// SPDX-License-Identifier: GPL-2.0-only
/* The events of the netlink family: what uapi/rpcordma.yaml calls "event". */
#include <linux/ratelimit.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include "kernel/observed.h"

#define GFP_EVENT (GFP_NOWAIT | __GFP_NOWARN)

static const struct genl_family *family;

/* A peer decides how many messages there are to refuse. All events share the listener's buffer, and those of
 * connections must not be lost in it. */
#define MOST_REFUSALS 20 /* a second */
/* By its flag, the log says nothing of those that are left out. */
static struct ratelimit_state refusals =
	RATELIMIT_STATE_INIT_FLAGS("refusals", HZ, MOST_REFUSALS, RATELIMIT_MSG_ON_RELEASE);

static bool is_too_many(const struct rpcordma_event *event)
{
	return event->happening == RPCORDMA_HAPPENING_REFUSED && !__ratelimit(&refusals);
}

void rpcordma_events_open(const struct genl_family *open)
{
	family = open;
}

size_t rpcordma_address_size(const struct rpcordma_address *address)
{
	switch (((const struct sockaddr *)address)->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

static int put(struct sk_buff *message, const struct rpcordma_event *event)
{
	const size_t size = rpcordma_address_size(&event->remote);

	return nla_put_u32(message, RPCORDMA_A_EVENT_HAPPENING, event->happening) ||
	       nla_put_u64_64bit(message, RPCORDMA_A_EVENT_CONNECTION, event->connection, RPCORDMA_A_EVENT_PAD) ||
	       nla_put_u32(message, RPCORDMA_A_EVENT_ROLE, event->role) ||
	       (size && nla_put(message, RPCORDMA_A_EVENT_REMOTE, size, &event->remote)) ||
	       (event->reason && nla_put_string(message, RPCORDMA_A_EVENT_REASON, event->reason)) ||
	       (event->reason && nla_put_string(message, RPCORDMA_A_EVENT_DETAIL, event->detail));
}

void rpcordma_send_event(struct net *network, const struct rpcordma_event *event)
{
	struct sk_buff *message;
	void *header;

	if (!family || !genl_has_listeners(family, network, 0) || is_too_many(event))
		return;
	/* Nothing on the way of a connection waits for memory. */
	message = genlmsg_new(NLMSG_GOODSIZE, GFP_EVENT);
	if (!message)
		return;
	header = genlmsg_put(message, 0, 0, family, 0, RPCORDMA_CMD_EVENT);
	if (!header || put(message, event)) {
		nlmsg_free(message);
		return;
	}
	genlmsg_end(message, header);
	genlmsg_multicast_netns(family, network, message, 0, 0, GFP_EVENT);
}

u64 rpcordma_network_cookie(const struct net *network)
{
	return network->net_cookie;
}
