// SPDX-License-Identifier: GPL-2.0-only

#include "verbs/connection_state.hh"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/eventfd.h>
#include <utility>

namespace peer {

namespace {

constexpr unsigned SEND_QUEUE = 128;
// The largest value of a field of three bits; for "receiver not ready" it means without end.
constexpr std::uint8_t RETRIES = 7;
// How long the device may take to give back what it was told to give up, or to bind a window.
constexpr auto DEVICE_TIME = std::chrono::seconds(10);
// How much later than the news of a connection's end an answer that was sent before may come.
constexpr auto ANSWER_TIME = std::chrono::milliseconds(200);
// IBTA, 12.6.7.2: why a request was rejected.
constexpr int REJECT_INVALID_SERVICE = 8;
constexpr int REJECT_BY_CONSUMER = 28;

// What this end's device says of its own memory, or of what it was asked for.
bool is_local(ibv_wc_status status) noexcept
{
	return status == IBV_WC_LOC_LEN_ERR || status == IBV_WC_LOC_QP_OP_ERR || status == IBV_WC_LOC_EEC_OP_ERR ||
	       status == IBV_WC_LOC_PROT_ERR || status == IBV_WC_MW_BIND_ERR || status == IBV_WC_LOC_ACCESS_ERR;
}

// A descriptor that is always readable, to stand for news that nobody has to wait for.
int always_readable()
{
	static const int descriptor = eventfd(1, EFD_CLOEXEC);
	if (descriptor < 0)
		throw cm::error("an eventfd cannot be made", errno);
	return descriptor;
}

std::string reason_of_rejection(int reason)
{
	switch (reason) {
	case REJECT_INVALID_SERVICE:
		return "nobody listens there for RDMA connections";
	case REJECT_BY_CONSUMER:
		return "the other end rejected the connection";
	}
	return "the connection was rejected for reason " + std::to_string(reason) + " (IBTA, 12.6.7.2)";
}

} // namespace

int remote_access(Access access) noexcept
{
	switch (access) {
	case Access::none:
		return 0;
	case Access::read:
	case Access::window_read:
		return IBV_ACCESS_REMOTE_READ;
	case Access::write:
	case Access::window_write:
		return IBV_ACCESS_REMOTE_WRITE;
	case Access::read_write:
	case Access::window_read_write:
		return IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	}
	return 0;
}

void keep_for_ever(cm::Channel channel, cm::Id id)
{
	static std::vector<std::pair<cm::Channel, cm::Id>> kept;
	kept.emplace_back(std::move(channel), std::move(id));
}

void check_private_data(ByteView data, std::size_t longest, const std::string &where)
{
	if (data.size() > longest)
		throw VerbsError("private data of " + std::to_string(data.size()) + " bytes do not fit into " + where +
				 ", which has room for " + std::to_string(longest));
}

rdma_conn_param parameters_of(const ConnectionSettings &settings, const ibv_device_attr &limits)
{
	rdma_conn_param parameters{};
	parameters.private_data = settings.private_data.empty() ? nullptr : settings.private_data.data();
	parameters.private_data_len = static_cast<std::uint8_t>(settings.private_data.size());
	parameters.responder_resources = static_cast<std::uint8_t>(
		std::min(settings.responder_resources, static_cast<unsigned>(limits.max_qp_rd_atom)));
	parameters.initiator_depth = static_cast<std::uint8_t>(
		std::min(settings.initiator_depth, static_cast<unsigned>(limits.max_qp_init_rd_atom)));
	parameters.retry_count = RETRIES;
	parameters.rnr_retry_count = RETRIES;
	return parameters;
}

void expect_established(const std::optional<cm::Event> &event, const std::string &whom)
{
	using Why = NotConnected::Why;
	if (!event)
		throw NotConnected(Why::timeout, whom + ": no answer to the connection request in time");
	switch (event->type) {
	case RDMA_CM_EVENT_ESTABLISHED:
		return;
	case RDMA_CM_EVENT_REJECTED:
		throw NotConnected(Why::rejected, whom + ": " + reason_of_rejection(event->status),
				   event->private_data);
	case RDMA_CM_EVENT_UNREACHABLE:
		throw NotConnected(Why::unreachable, cm::error(whom + " cannot be reached", -event->status).what());
	case RDMA_CM_EVENT_CONNECT_ERROR:
		throw NotConnected(
			Why::broken,
			cm::error(whom + ": the connection ended while it was being made", -event->status).what());
	default:
		throw NotConnected(Why::other,
				   whom + ": " + rdma_event_str(event->type) + " in the place of a connection");
	}
}

Connection::State::State(cm::Channel of, cm::Id with, const ConnectionSettings &settings)
	: channel(std::move(of))
	, id(std::move(with))
	, limits(device::limits_of(id->verbs))
	, peer_address(cm::peer_address(id.get()))
	, receives(settings.receives)
	, receive_size(settings.receive_size)
	, domain(device::make_domain(id->verbs))
	, completion_channel(device::make_completion_channel(id->verbs))
	, completion_queue(device::make_completion_queue(id->verbs, completion_channel.get(), SEND_QUEUE + receives))
	, receive_buffers(domain.get(), std::max(receives, 1U) * receive_size, IBV_ACCESS_LOCAL_WRITE)
{
	create_queue_pair();
	for (unsigned number = 0; number < receives; number++)
		post_receive(number);
}

Connection::State::~State()
{
	if (!closed && id)
		rdma_disconnect(id.get());
}

void Connection::State::create_queue_pair()
{
	ibv_qp_init_attr wanted{};
	wanted.send_cq = wanted.recv_cq = completion_queue.get();
	wanted.qp_type = IBV_QPT_RC;
	wanted.sq_sig_all = 1;
	wanted.cap.max_send_wr = SEND_QUEUE;
	wanted.cap.max_recv_wr = std::max(receives, 1U);
	wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
	if (rdma_create_qp(id.get(), domain.get(), &wanted) != 0)
		throw cm::error("the device has no queue pair for " + std::to_string(SEND_QUEUE) + " Sends and " +
					std::to_string(receives) + " Receives",
				errno);
	queue_pair.reset(id.get());
}

// Where the other end has no Receive, a queue pair tries as often as the other end's acceptance says, and the library readies
// the queue pair before anybody can say otherwise. One that it does not see is left to its owner.
std::optional<cm::Event> Connection::State::establish_without_rnr_retry(Deadline deadline)
{
	struct Hidden {
		explicit Hidden(rdma_cm_id *of)
			: id(of)
			, pair(std::exchange(of->qp, nullptr))
		{
		}
		~Hidden() { id->qp = pair; }
		Hidden(const Hidden &) = delete;
		Hidden &operator=(const Hidden &) = delete;

		rdma_cm_id *id;
		ibv_qp *pair;
	};
	const Hidden hidden(id.get());
	std::optional<cm::Event> event = cm::wait_for_event(channel, deadline);
	// Over iWARP it is the kernel that readies the queue pair.
	if (!event || event->type != RDMA_CM_EVENT_CONNECT_RESPONSE)
		return event;
	ready_without_rnr_retry(hidden.pair);
	if (rdma_establish(id.get()) != 0)
		throw cm::error("the connection cannot be confirmed", errno);
	event->type = RDMA_CM_EVENT_ESTABLISHED;
	return event;
}

void Connection::State::ready_without_rnr_retry(ibv_qp *pair)
{
	// Of Ethernet addresses, which are the kernel's business: it hands them out, and some kernels take none back.
	constexpr int NOT_FOR_USERS = 0xf << 21;
	for (const ibv_qp_state next : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
		ibv_qp_attr attributes{};
		attributes.qp_state = next;
		int mask = 0;
		if (rdma_init_qp_attr(id.get(), &attributes, &mask) != 0)
			throw cm::error("the connection manager does not say how a queue pair is readied", errno);
		attributes.rnr_retry = 0;
		if (const int status = ibv_modify_qp(pair, &attributes, mask & ~NOT_FOR_USERS))
			throw cm::error("the queue pair cannot be readied", status);
	}
}

void Connection::State::post_receive(std::uint64_t number)
{
	ibv_sge element = receive_buffers.element(number * receive_size, receive_size);
	ibv_recv_wr receive{};
	receive.wr_id = number;
	receive.sg_list = &element;
	receive.num_sge = 1;
	ibv_recv_wr *refused = nullptr;
	if (const int status = ibv_post_recv(id->qp, &receive, &refused); status != 0 && !closed)
		throw cm::error("a Receive cannot be posted", status);
}

// What is posted completes with an error, and nothing more is sent or received.
void Connection::State::break_queue_pair()
{
	ibv_qp_attr attributes{};
	attributes.qp_state = IBV_QPS_ERR;
	ibv_modify_qp(id->qp, &attributes, IBV_QP_STATE);
}

void Connection::State::disconnect(const std::string &reason, bool by_other_end)
{
	if (!closed)
		closed = Closed{by_other_end, reason, established};
	if (!id)
		return;
	break_queue_pair();
	// Where the other end was first, this is the answer.
	rdma_disconnect(id.get());
}

void Connection::State::vanish()
{
	closed = Closed{false, "this end vanished"};
	if (!id)
		return;
	windows.clear();
	queue_pair.reset();
	keep_for_ever(std::move(channel), std::move(id));
}

void Connection::State::finish()
{
	finished = true;
	inbox.clear();
}

// Waiting: the events of the connection manager and the completions, until a condition holds.

template <typename Condition> bool Connection::State::run_until(Condition condition, Deadline deadline)
{
	for (;;) {
		progress();
		if (condition())
			return true;
		if (finished || Clock::now() >= deadline)
			return false;
		if (arm())
			wait_for_any({channel->fd, completion_channel->fd}, deadline);
	}
}

void Connection::State::progress()
{
	if (finished || take_completions())
		return;
	take_events();
	// What came before the end is told before it.
	take_completions();
}

bool Connection::State::has_news() const
{
	return !inbox.empty() || closed;
}

// Asks to be woken by the next completion. False where one came meanwhile, and there is nothing to wait for.
bool Connection::State::arm()
{
	ibv_cq *queue = nullptr;
	void *context = nullptr;
	while (ibv_get_cq_event(completion_channel.get(), &queue, &context) == 0)
		ibv_ack_cq_events(queue, 1);
	if (const int status = ibv_req_notify_cq(completion_queue.get(), 0))
		throw cm::error("the completion queue does not notify", status);
	return !take_completions();
}

void Connection::State::take_events()
{
	while (const std::optional<cm::Event> event = cm::next_event(channel)) {
		switch (event->type) {
		case RDMA_CM_EVENT_DISCONNECTED:
			established = true;
			take_last_answers();
			disconnect("the other end disconnected", true);
			break;
		case RDMA_CM_EVENT_DEVICE_REMOVAL:
			disconnect("the device was removed", false);
			break;
		case RDMA_CM_EVENT_CONNECT_ERROR:
		case RDMA_CM_EVENT_UNREACHABLE:
		case RDMA_CM_EVENT_REJECTED:
			disconnect(established ? "the other end gave the connection up" :
						 "the other end did not establish the connection",
				   false);
			break;
		case RDMA_CM_EVENT_ESTABLISHED:
			established = true;
			break;
		default:
			break;
		}
	}
}

// Where the other end refuses an RDMA operation, and ends the connection for it, either may be heard of first.
void Connection::State::take_last_answers()
{
	const Deadline end = Clock::now() + ANSWER_TIME;
	while (outstanding != 0 && Clock::now() < end)
		if (arm())
			wait_for_any({completion_channel->fd}, end);
}

bool Connection::State::take_completions()
{
	std::array<ibv_wc, 16> completions;
	bool any = false;
	for (;;) {
		const int count = ibv_poll_cq(completion_queue.get(), completions.size(), completions.data());
		if (count < 0)
			throw VerbsError("the completion queue cannot be polled");
		if (count == 0)
			return any;
		any = true;
		for (int i = 0; i < count; i++)
			take(completions[static_cast<std::size_t>(i)]);
	}
}

void Connection::State::take(const ibv_wc &completion)
{
	if (completion.wr_id == SENT)
		take_sent(completion);
	else
		take_received(completion);
}

void Connection::State::take_sent(const ibv_wc &completion)
{
	outstanding--;
	if (completion.status == IBV_WC_SUCCESS) {
		arrived++;
		return;
	}
	fail(std::string("a work request failed: ") + ibv_wc_status_str(completion.status));
	if (!failure.empty())
		return;
	failure = completion.status == IBV_WC_WR_FLUSH_ERR ? closed->reason : ibv_wc_status_str(completion.status);
	failed_here = is_local(completion.status);
}

void Connection::State::take_received(const ibv_wc &completion)
{
	if (completion.status == IBV_WC_WR_FLUSH_ERR)
		return fail("the queue pair failed, and flushed its Receives");
	if (completion.status != IBV_WC_SUCCESS)
		return fail(std::string("a Receive failed: ") + ibv_wc_status_str(completion.status));

	const auto buffer = receive_buffers.bytes().subspan(completion.wr_id * receive_size, completion.byte_len);
	// It may come before the event says so.
	established = true;
	Message message{Bytes(buffer.begin(), buffer.end()), {}};
	if (completion.wc_flags & device::invalidation_flags(limits))
		message.invalidated = completion.invalidated_rkey;
	inbox.push_back(std::move(message));
	if (!starves)
		post_receive(completion.wr_id);
}

// An end in order explains the errors that it brings with it.
void Connection::State::fail(const std::string &reason)
{
	if (!closed)
		take_events();
	if (!closed)
		closed = Closed{false, reason, established};
}

Event Connection::State::receive(Deadline deadline)
{
	if (inbox.empty())
		run_until([this] { return has_news(); }, deadline);
	if (!inbox.empty()) {
		Message message = std::move(inbox.front());
		inbox.pop_front();
		return message;
	}
	if (closed)
		return *closed;
	return TimedOut{};
}

std::vector<int> Connection::State::descriptors()
{
	do
		progress();
	while (!has_news() && !arm());
	if (has_news())
		return {always_readable()};
	return {channel->fd, completion_channel->fd};
}

// The send queue.

Transferred Connection::State::carry_out(ibv_send_wr *first, unsigned count, Deadline deadline)
{
	progress();
	if (closed)
		return {false, closed->reason, true};
	failure.clear();
	failed_here = false;
	ibv_send_wr *refused = nullptr;
	if (const int status = ibv_post_send(id->qp, first, &refused)) {
		disconnect("a work request was refused", false);
		return {false, cm::error("a work request cannot be posted", status).what(), true};
	}
	outstanding += count;
	const auto done = [this] { return outstanding == 0; };
	if (!run_until(done, deadline)) {
		fail("a work request did not complete in time");
		break_queue_pair();
		run_until(done, Clock::now() + DEVICE_TIME);
		return {false, "it did not complete in time", true, true};
	}
	return {failure.empty(), failure, failed_here};
}

Transferred Connection::State::send_all(const std::vector<ByteView> &messages, std::optional<std::uint32_t> invalidate,
					Deadline deadline)
{
	std::size_t total = 0;
	for (const ByteView message : messages)
		total += message.size();
	if (!send_buffer || send_buffer->bytes().size() < total)
		send_buffer.emplace(domain.get(), total, IBV_ACCESS_LOCAL_WRITE);

	std::vector<ibv_sge> elements(messages.size());
	std::vector<ibv_send_wr> sends(messages.size());
	std::size_t at = 0;
	for (std::size_t i = 0; i < messages.size(); i++) {
		std::copy(messages[i].begin(), messages[i].end(), send_buffer->bytes().begin() + at);
		elements[i] = send_buffer->element(at, messages[i].size());
		at += messages[i].size();
		sends[i].wr_id = SENT;
		sends[i].next = i + 1 < messages.size() && (i + 1) % SEND_QUEUE ? &sends[i + 1] : nullptr;
		sends[i].sg_list = &elements[i];
		sends[i].num_sge = 1;
		sends[i].opcode = invalidate ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND;
		sends[i].invalidate_rkey = invalidate.value_or(0);
	}

	const std::uint64_t before = arrived;
	Transferred result{true, {}};
	for (std::size_t from = 0; from < sends.size() && result.ok; from += SEND_QUEUE) {
		const auto count = static_cast<unsigned>(std::min<std::size_t>(SEND_QUEUE, sends.size() - from));
		result = carry_out(&sends[from], count, deadline);
	}
	// Where some have arrived, the connection's end is the other end's answer to them.
	if (arrived != before && closed && result.status == closed->reason)
		result.inconclusive = false;
	return result;
}

std::uint32_t Connection::State::bind(ibv_mw *window, const device::Region &region, Access access)
{
	ibv_send_wr request{};
	request.wr_id = SENT;
	request.opcode = IBV_WR_BIND_MW;
	request.bind_mw.mw = window;
	request.bind_mw.rkey = ibv_inc_rkey(window->rkey);
	request.bind_mw.bind_info = {.mr = region.registration(),
				     .addr = reinterpret_cast<std::uintptr_t>(region.bytes().data()),
				     .length = region.bytes().size(),
				     .mw_access_flags = static_cast<unsigned>(remote_access(access))};
	const Transferred bound = carry_out(&request, 1, Clock::now() + DEVICE_TIME);
	if (!bound.ok)
		throw VerbsError("a memory window cannot be bound: " + bound.status);
	window->rkey = request.bind_mw.rkey;
	return window->rkey;
}

} // namespace peer
