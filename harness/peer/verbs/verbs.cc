// SPDX-License-Identifier: GPL-2.0-only

#include "verbs/verbs.hh"

#include <algorithm>
#include <utility>

#include "verbs/connection_state.hh"

namespace peer {

namespace {

// The connection manager's share of the private data belongs to itself.
constexpr std::size_t REQUEST_PRIVATE_DATA = 56;

} // namespace

Connection::Connection(std::unique_ptr<State> state)
	: state_(std::move(state))
{
}

Connection::~Connection() = default;
Connection::Connection(Connection &&) noexcept = default;
Connection &Connection::operator=(Connection &&) noexcept = default;

Connection Connection::connect(const std::string &host, std::uint16_t port, const ConnectionSettings &settings,
			       Deadline deadline)
{
	check_private_data(settings.private_data, REQUEST_PRIVATE_DATA, "a connection request");
	cm::Channel channel = cm::make_channel();
	cm::Id id = cm::make_id(channel);
	cm::resolve(channel, id.get(), host, port, deadline);
	auto state = std::make_unique<State>(std::move(channel), std::move(id), settings);

	rdma_conn_param parameters = parameters_of(settings, state->limits);
	if (rdma_connect(state->id.get(), &parameters) != 0)
		throw cm::error(state->peer_address + ": the connection request cannot be sent", errno);
	const std::optional<cm::Event> event = settings.rnr_retry ? cm::wait_for_event(state->channel, deadline) :
								    state->establish_without_rnr_retry(deadline);
	expect_established(event, state->peer_address);
	state->established = true;
	state->private_data = event->private_data;
	return Connection(std::move(state));
}

const Bytes &Connection::private_data() const noexcept
{
	return state_->private_data;
}

std::string Connection::peer_address() const
{
	return state_->peer_address;
}

Transferred Connection::send(ByteView message, std::optional<std::uint32_t> invalidate, Deadline deadline)
{
	return state_->send_all({message}, invalidate, deadline);
}

Transferred Connection::send_all(const std::vector<Bytes> &messages, Deadline deadline)
{
	return state_->send_all({messages.begin(), messages.end()}, {}, deadline);
}

namespace {

ibv_send_wr rdma_request(ibv_wr_opcode opcode, ibv_sge *local, const Segment &remote)
{
	ibv_send_wr request{};
	request.wr_id = SENT;
	request.opcode = opcode;
	request.sg_list = local;
	request.num_sge = 1;
	request.wr.rdma.remote_addr = remote.offset;
	request.wr.rdma.rkey = remote.handle;
	return request;
}

} // namespace

Transferred Connection::read(const Segment &from, Memory &into, std::size_t offset, Deadline deadline)
{
	ibv_sge local = into.state_->region.element(offset, from.length);
	ibv_send_wr request = rdma_request(IBV_WR_RDMA_READ, &local, from);
	return state_->carry_out(&request, 1, deadline);
}

Transferred Connection::write(const Memory &from, std::size_t offset, std::size_t length, const Segment &to,
			      Deadline deadline)
{
	ibv_sge local = from.state_->region.element(offset, length);
	ibv_send_wr request = rdma_request(IBV_WR_RDMA_WRITE, &local, to);
	return state_->carry_out(&request, 1, deadline);
}

Transferred Connection::write_with_immediate(const Memory &from, std::size_t offset, std::size_t length,
					     const Segment &to, Deadline deadline)
{
	ibv_sge local = from.state_->region.element(offset, length);
	ibv_send_wr request = rdma_request(IBV_WR_RDMA_WRITE_WITH_IMM, &local, to);
	return state_->carry_out(&request, 1, deadline);
}

// An RDMA Read of nothing is answered behind the Write, and whatever its handle is.
Transferred Connection::write_and_confirm(const Memory &from, std::size_t offset, std::size_t length, const Segment &to,
					  Deadline deadline)
{
	const Transferred written = write(from, offset, length, to, deadline);
	if (!written.ok)
		return written;
	ibv_sge nothing = from.state_->region.element(offset, 0);
	ibv_send_wr request = rdma_request(IBV_WR_RDMA_READ, &nothing, to);
	Transferred confirmed = state_->carry_out(&request, 1, deadline);
	// Where the connection has ended before the Read could go out, that is the answer to the Write.
	if (state_->closed && confirmed.status == state_->closed->reason)
		confirmed.inconclusive = false;
	return confirmed;
}

DeviceInfo Connection::device() const
{
	return device::describe(*state_->id->verbs, state_->limits);
}

bool Connection::has_windows() const
{
	return state_->limits.device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B);
}

Event Connection::receive(Deadline deadline)
{
	return state_->receive(deadline);
}

void Connection::disconnect()
{
	state_->disconnect("this end disconnected", false);
	state_->finish();
}

void Connection::vanish()
{
	state_->vanish();
	state_->finish();
}

void Connection::starve() noexcept
{
	state_->starves = true;
}

bool Connection::connected() const noexcept
{
	return !state_->closed;
}

std::vector<int> Connection::descriptors() const
{
	return state_->descriptors();
}

} // namespace peer
