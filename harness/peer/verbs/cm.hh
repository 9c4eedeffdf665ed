// SPDX-License-Identifier: GPL-2.0-only
//
// The connection manager (librdmacm) as verbs.cc uses it: owners of its objects, and its events with deadlines.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include <rdma/rdma_cma.h>

#include "verbs/verbs.hh"

namespace peer::cm {

struct ChannelDestroyer {
	void operator()(rdma_event_channel *channel) const noexcept;
};
/// Where the events of identifiers arrive; its file descriptor does not block.
using Channel = std::unique_ptr<rdma_event_channel, ChannelDestroyer>;

struct IdDestroyer {
	void operator()(rdma_cm_id *id) const noexcept;
};
/// An identifier: one end of a connection, or a listener. Its channel outlives it, its queue pair does not.
using Id = std::unique_ptr<rdma_cm_id, IdDestroyer>;

/// An event, copied from the library and acknowledged.
struct Event {
	rdma_cm_event_type type = RDMA_CM_EVENT_ADDR_RESOLVED;
	int status = 0;
	rdma_cm_id *id = nullptr;
	Bytes private_data;
	unsigned responder_resources = 0;
	unsigned initiator_depth = 0;
};

[[nodiscard]] Channel make_channel();
[[nodiscard]] Id make_id(const Channel &channel);

/// The next event that has come; nothing where there is none.
[[nodiscard]] std::optional<Event> next_event(const Channel &channel);
/// The next event; nothing when the deadline passes.
[[nodiscard]] std::optional<Event> wait_for_event(const Channel &channel, Deadline deadline);

/// Finds the device and the route to a server.
void resolve(const Channel &channel, rdma_cm_id *id, const std::string &host, std::uint16_t port, Deadline deadline);
/// Binds to an address, "" for all there are, and listens.
void listen(rdma_cm_id *id, const std::string &host, std::uint16_t port);

/// "10.9.0.1:20049": the other end.
[[nodiscard]] std::string peer_address(rdma_cm_id *id);

/// A VerbsError that says what could not be done, why, and what can be done about it where that is known.
[[nodiscard]] VerbsError error(const std::string &what, int number);

} // namespace peer::cm
