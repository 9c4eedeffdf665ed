// SPDX-License-Identifier: GPL-2.0-only

#include "verbs/cm.hh"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <netdb.h>
#include <system_error>
#include <unistd.h>

namespace peer::cm {

namespace {

constexpr int BACKLOG = 128;

struct AddressesFreer {
	void operator()(addrinfo *addresses) const noexcept { freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, AddressesFreer>;

std::string bracketed(const std::string &host)
{
	return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

std::string name_of(const std::string &host, std::uint16_t port)
{
	return bracketed(host) + ":" + std::to_string(port);
}

Addresses look_up(const std::string &host, std::uint16_t port, int flags)
{
	addrinfo hints{};
	hints.ai_flags = flags;
	hints.ai_socktype = SOCK_STREAM;
	if (host.empty())
		hints.ai_family = AF_INET6; // its wildcard stands for both families
	addrinfo *found = nullptr;
	const int status =
		getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found);
	if (status != 0)
		throw VerbsError("there is no address for '" + host + "': " + gai_strerror(status));
	return Addresses(found);
}

int milliseconds_until(Deadline deadline)
{
	const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
	return static_cast<int>(std::max<std::int64_t>(left.count(), 1));
}

const char *cure_of(int number)
{
	switch (number) {
	case EACCES:
	case EPERM:
		return "; be root, or in the group that may open /dev/infiniband/rdma_cm and uverbs*";
	case ENOENT:
		return "; modprobe rdma_ucm ib_uverbs makes the files in /dev/infiniband";
	case ENODEV:
		return "; `rdma link` lists the RDMA devices here, and where there is no other, soft-RoCE is one: "
		       "modprobe rdma_rxe; rdma link add rxe0 type rxe netdev INTERFACE";
	case ENOMEM:
		return "; memory, or the limit on locked memory (ulimit -l), is too small";
	case EADDRINUSE:
		return "; somebody else listens there (nfsd does, where /proc/fs/nfsd/portlist names the port)";
	}
	return "";
}

// The library says of a file that it may not open that there is none.
int why_not_opened(int number)
{
	constexpr const char *FILE = "/dev/infiniband/rdma_cm";
	return access(FILE, F_OK) == 0 && access(FILE, R_OK | W_OK) != 0 ? errno : number;
}

void expect(const Channel &channel, rdma_cm_event_type wanted, const std::string &what, Deadline deadline)
{
	const std::optional<Event> event = wait_for_event(channel, deadline);
	if (!event)
		throw NotConnected(NotConnected::Why::timeout, what + ": no answer in time");
	if (event->type == wanted)
		return;
	const VerbsError failure = error(what, -event->status);
	if (event->status == -ENODEV)
		throw failure;
	throw NotConnected(NotConnected::Why::unreachable, failure.what());
}

} // namespace

void ChannelDestroyer::operator()(rdma_event_channel *channel) const noexcept
{
	rdma_destroy_event_channel(channel);
}

void IdDestroyer::operator()(rdma_cm_id *id) const noexcept
{
	rdma_destroy_id(id);
}

VerbsError error(const std::string &what, int number)
{
	return VerbsError(what + ": " + std::generic_category().message(number) + cure_of(number));
}

Channel make_channel()
{
	Channel channel(rdma_create_event_channel());
	if (!channel)
		throw error("the RDMA connection manager cannot be opened", why_not_opened(errno));
	if (fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK) != 0)
		throw error("an event channel cannot be made non-blocking", errno);
	return channel;
}

Id make_id(const Channel &channel)
{
	rdma_cm_id *id = nullptr;
	if (rdma_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP) != 0)
		throw error("the connection manager has no identifier to give", errno);
	return Id(id);
}

std::optional<Event> next_event(const Channel &channel)
{
	rdma_cm_event *came = nullptr;
	if (rdma_get_cm_event(channel.get(), &came) != 0) {
		if (errno == EAGAIN)
			return {};
		throw error("the connection manager's events cannot be read", errno);
	}
	const rdma_conn_param &parameters = came->param.conn;
	const auto *data = static_cast<const std::uint8_t *>(parameters.private_data);
	Event event{
		.type = came->event,
		.status = came->status,
		.id = came->id,
		.private_data = data ? Bytes(data, data + parameters.private_data_len) : Bytes{},
		.responder_resources = parameters.responder_resources,
		.initiator_depth = parameters.initiator_depth,
	};
	rdma_ack_cm_event(came);
	return event;
}

std::optional<Event> wait_for_event(const Channel &channel, Deadline deadline)
{
	std::optional<Event> event = next_event(channel);
	while (!event && Clock::now() < deadline) {
		wait_for_any({channel->fd}, deadline);
		event = next_event(channel);
	}
	return event;
}

void resolve(const Channel &channel, rdma_cm_id *id, const std::string &host, std::uint16_t port, Deadline deadline)
{
	const Addresses addresses = look_up(host, port, 0);
	const std::string device = "no RDMA device reaches " + host;
	if (rdma_resolve_addr(id, nullptr, addresses->ai_addr, milliseconds_until(deadline)) != 0)
		throw error(device, errno);
	expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, device, deadline);
	const std::string route = "there is no route to " + host;
	if (rdma_resolve_route(id, milliseconds_until(deadline)) != 0)
		throw error(route, errno);
	expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, route, deadline);
}

void listen(rdma_cm_id *id, const std::string &host, std::uint16_t port)
{
	const Addresses addresses = look_up(host, port, AI_PASSIVE);
	const std::string what = "cannot listen at " + name_of(host.empty() ? "*" : host, port);
	int reuse = 1;
	rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &reuse, sizeof(reuse));
	if (rdma_bind_addr(id, addresses->ai_addr) != 0 || rdma_listen(id, BACKLOG) != 0)
		throw error(what, errno);
}

std::string peer_address(rdma_cm_id *id)
{
	char host[NI_MAXHOST];
	char port[NI_MAXSERV];
	const sockaddr *address = rdma_get_peer_addr(id);
	const socklen_t length = address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
	if (getnameinfo(address, length, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return "unknown";
	return bracketed(host) + ":" + port;
}

} // namespace peer::cm
