// SPDX-License-Identifier: GPL-2.0-only
//
// Connections that others ask for.

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <utility>

#include "verbs/connection_state.hh"
#include "verbs/interruption.hh"

namespace peer {

namespace {

constexpr std::size_t ACCEPT_PRIVATE_DATA = 196;
constexpr std::size_t REJECT_PRIVATE_DATA = 148;

} // namespace

// Request

struct Request::State {
	State(cm::Channel of, const cm::Event &event)
		: channel(std::move(of))
		, id(event.id)
		, private_data(event.private_data)
		, their_responder_resources(event.initiator_depth)
		, their_initiator_depth(event.responder_resources)
	{
	}

	cm::Channel channel;
	cm::Id id;
	Bytes private_data;
	// The event has them the other way round: as what they are to the end that accepts.
	unsigned their_responder_resources;
	unsigned their_initiator_depth;
};

Request::Request(std::unique_ptr<State> state)
	: state_(std::move(state))
{
}

Request::~Request() = default;
Request::Request(Request &&) noexcept = default;
Request &Request::operator=(Request &&) noexcept = default;

const Bytes &Request::private_data() const noexcept
{
	return state_->private_data;
}

unsigned Request::responder_resources() const noexcept
{
	return state_->their_responder_resources;
}

unsigned Request::initiator_depth() const noexcept
{
	return state_->their_initiator_depth;
}

Connection Request::accept(const ConnectionSettings &settings) &&
{
	check_private_data(settings.private_data, ACCEPT_PRIVATE_DATA, "an acceptance");
	const std::unique_ptr<State> request = std::move(state_);
	ConnectionSettings agreed = settings;
	agreed.responder_resources = std::min(settings.responder_resources, request->their_initiator_depth);
	agreed.initiator_depth = std::min(settings.initiator_depth, request->their_responder_resources);

	auto state = std::make_unique<Connection::State>(std::move(request->channel), std::move(request->id), agreed);
	state->private_data = std::move(request->private_data);
	rdma_conn_param parameters = parameters_of(agreed, state->limits);
	if (rdma_accept(state->id.get(), &parameters) != 0)
		throw cm::error(state->peer_address + ": the connection cannot be accepted", errno);
	return Connection(std::move(state));
}

Connection Request::accept(const ConnectionSettings &settings, Deadline deadline) &&
{
	Connection connection = std::move(*this).accept(settings);
	Connection::State &state = *connection.state_;
	expect_established(cm::wait_for_event(state.channel, deadline), state.peer_address);
	state.established = true;
	return connection;
}

void Request::reject(ByteView private_data) &&
{
	check_private_data(private_data, REJECT_PRIVATE_DATA, "a rejection");
	const std::unique_ptr<State> request = std::move(state_);
	if (rdma_reject(request->id.get(), private_data.empty() ? nullptr : private_data.data(),
			static_cast<std::uint8_t>(private_data.size())) != 0)
		throw cm::error("the connection request cannot be rejected", errno);
}

void Request::ignore() &&
{
	const std::unique_ptr<State> request = std::move(state_);
	keep_for_ever(std::move(request->channel), std::move(request->id));
}

// Listener

struct Listener::State {
	cm::Channel channel = cm::make_channel();
	cm::Id id = cm::make_id(channel);
};

Listener::Listener(const std::string &host, std::uint16_t port)
	: state_(std::make_unique<State>())
{
	cm::listen(state_->id.get(), host, port);
}

Listener::~Listener() = default;
Listener::Listener(Listener &&) noexcept = default;
Listener &Listener::operator=(Listener &&) noexcept = default;

std::optional<Request> Listener::wait(Deadline deadline)
{
	while (const std::optional<cm::Event> event = cm::wait_for_event(state_->channel, deadline)) {
		if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
			throw VerbsError("the device was removed");
		if (event->type != RDMA_CM_EVENT_CONNECT_REQUEST)
			continue;
		auto request = std::make_unique<Request::State>(cm::make_channel(), *event);
		// What becomes of the request is no business of the listener's.
		if (rdma_migrate_id(request->id.get(), request->channel.get()) != 0)
			throw cm::error("a connection request cannot be taken from its listener", errno);
		return Request(std::move(request));
	}
	return {};
}

int Listener::descriptor() const noexcept
{
	return state_->channel->fd;
}

std::uint16_t Listener::port() const noexcept
{
	return static_cast<std::uint16_t>(be16toh(rdma_get_src_port(state_->id.get())));
}

void wait_for_any(const std::vector<int> &descriptors, Deadline deadline)
{
	std::vector<pollfd> polled;
	for (const int descriptor : descriptors)
		polled.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
	// Where there is none it is negative, which ppoll() passes over.
	polled.push_back({.fd = interruption_descriptor(), .events = POLLIN, .revents = 0});
	const auto left = std::max(Clock::duration::zero(), deadline - Clock::now());
	const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
	const timespec time{.tv_sec = seconds.count(),
			    .tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(left - seconds).count()};
	if (ppoll(polled.data(), polled.size(), &time, nullptr) < 0 && errno != EINTR)
		throw cm::error("descriptors cannot be waited for", errno);
	throw_if_interrupted();
}

void pause(Clock::duration time)
{
	const Deadline end = Clock::now() + time;
	while (Clock::now() < end)
		wait_for_any({}, end);
}

} // namespace peer
