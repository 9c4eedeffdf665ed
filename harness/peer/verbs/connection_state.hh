// SPDX-License-Identifier: GPL-2.0-only
//
/// Everything of a connection, and what its ends have in common when they begin one.
#pragma once

#include <array>
#include <deque>
#include <list>

#include "verbs/cm.hh"
#include "verbs/device.hh"
#include "verbs/verbs.hh"

namespace peer {

// What a completion of the send queue carries; those of the receive queue carry the number of their buffer.
inline constexpr std::uint64_t SENT = ~std::uint64_t{0};

/// What a peer may do with memory, in verbs' words.
int remote_access(Access access) noexcept;
/// Keeps an identifier whose other end shall not hear of it again. To destroy it would tell that end.
void keep_for_ever(cm::Channel channel, cm::Id id);
/// Throws where private data are longer than there is room for.
void check_private_data(ByteView data, std::size_t longest, const std::string &where);
/// What a connection is asked for, or accepted with.
rdma_conn_param parameters_of(const ConnectionSettings &settings, const ibv_device_attr &limits);
/// Throws unless the event says that the connection is established.
void expect_established(const std::optional<cm::Event> &event, const std::string &whom);

/// Everything of a connection. What is declared later is released earlier, as verbs demand it.

struct Connection::State {
	State(cm::Channel channel, cm::Id id, const ConnectionSettings &settings);
	~State();

	Transferred send_all(const std::vector<ByteView> &messages, std::optional<std::uint32_t> invalidate,
			     Deadline deadline);
	Transferred carry_out(ibv_send_wr *first, unsigned count, Deadline deadline);
	std::uint32_t bind(ibv_mw *window, const device::Region &region, Access access);
	Event receive(Deadline deadline);
	std::vector<int> descriptors();
	void disconnect(const std::string &reason, bool by_other_end);
	void vanish();
	void finish();

	std::optional<cm::Event> establish_without_rnr_retry(Deadline deadline);
	void ready_without_rnr_retry(ibv_qp *pair);
	void create_queue_pair();
	void post_receive(std::uint64_t number);
	void break_queue_pair();

	template <typename Condition> bool run_until(Condition condition, Deadline deadline);
	void progress();
	bool has_news() const;
	bool arm();
	void take_events();
	void take_last_answers();
	bool take_completions();
	void take(const ibv_wc &completion);
	void take_sent(const ibv_wc &completion);
	void take_received(const ibv_wc &completion);
	void fail(const std::string &reason);

	cm::Channel channel;
	cm::Id id;
	ibv_device_attr limits;
	std::string peer_address;
	Bytes private_data;
	unsigned receives;
	std::size_t receive_size;

	device::ProtectionDomain domain;
	device::CompletionChannel completion_channel;
	device::CompletionQueue completion_queue;
	device::Region receive_buffers;
	std::optional<device::Region> send_buffer;
	device::QueuePair queue_pair;
	std::list<device::Window> windows;

	std::deque<Message> inbox;
	std::optional<Closed> closed;
	bool established = false;
	bool starves = false; // the other end, of Receives
	bool finished = false; // by this end: nothing is received any more
	unsigned outstanding = 0; // in the send queue
	std::uint64_t arrived = 0; // of what was in it
	std::string failure; // of the first that failed
	bool failed_here = false; // before it went out
};

/// Everything of memory that the other end may reach.
struct Memory::State {
	State(Connection::State &of, std::size_t size, Access access);
	~State();

	void open_window(Access access);

	Connection::State &connection;
	device::Region region;
	std::uint32_t handle;
	ibv_mw *window = nullptr; // the connection owns it
};

} // namespace peer
