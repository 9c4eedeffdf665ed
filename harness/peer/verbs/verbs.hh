// SPDX-License-Identifier: GPL-2.0-only
//
// Connections over RDMA as the peer uses them: libibverbs and librdmacm behind owners that release what they hold. One
// thread uses all of it; whatever waits has a deadline.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "codec/header.hh"

namespace peer {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

/// Something of the device, the network or the connection manager does not work; the text names what and why.
class VerbsError : public std::runtime_error {
	using runtime_error::runtime_error;
};

/// A connection request that came to nothing.
class NotConnected : public VerbsError {
    public:
	/// Broken: it ended while it was being made.
	enum class Why { rejected, unreachable, timeout, broken, other };

	NotConnected(Why why, const std::string &text, Bytes private_data = {})
		: VerbsError(text)
		, why(why)
		, private_data(std::move(private_data))
	{
	}

	Why why;
	/// What a rejection carried.
	Bytes private_data;
};

/// What the other end may do with registered memory. "window" is remote access through a type-2 memory window, which a
/// Send With Invalidate can take away; the others stay valid until the Memory is gone.
enum class Access { none, read, write, read_write, window_read, window_write, window_read_write };

/// The RDMA device that a connection uses, as the system names it. What is not known is empty.
struct DeviceInfo {
	std::string name; // "rxe0"
	std::string driver; // "rdma_rxe"
	std::string firmware;
	std::string transport; // "InfiniBand" (RoCE, too) or "iWARP"
};

class Connection;

/// Memory that is registered with a connection's protection domain, zeroed at first. It may outlive the connection's
/// queue pair, but not the Connection object. A window is bound to the queue pair, and gone when that is: making one then
/// throws VerbsError.
class Memory {
    public:
	Memory(Connection &connection, std::size_t size, Access access);
	~Memory();
	Memory(Memory &&) noexcept;
	Memory &operator=(Memory &&) noexcept;

	[[nodiscard]] std::span<std::uint8_t> bytes() noexcept;
	[[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept;

	/// The part of it from @offset on, @length bytes long, as a segment offers it.
	[[nodiscard]] Segment segment(std::size_t offset, std::size_t length) const noexcept;
	/// All of it.
	[[nodiscard]] Segment segment() const noexcept { return segment(0, bytes().size()); }

    private:
	struct State;
	std::unique_ptr<State> state_;
	friend class Connection;
};

/// A message that came in.
struct Message {
	Bytes bytes;
	/// The handle that its sender invalidated with it.
	std::optional<std::uint32_t> invalidated;
};

/// The connection is no more.
struct Closed {
	/// Whether the other end said so (a DREQ); otherwise a queue pair failed, or the connection manager gave it up.
	bool by_disconnect = false;
	std::string reason;
	/// False where there never was one: the other end was accepted, and did not come.
	bool was_established = true;
};

/// The deadline passed.
struct TimedOut {};

using Event = std::variant<Message, Closed, TimedOut>;

/// What a connection is made with, on either side.
struct ConnectionSettings {
	/// CM private data, as it goes out: up to 56 bytes in a request, 196 in an acceptance.
	Bytes private_data;
	/// Receives that are kept posted, and how long each is.
	unsigned receives = 64;
	std::size_t receive_size = 4096;
	/// RDMA Reads outstanding: that the other end may have, that this end wants to have. No more than the device can do;
	/// in an acceptance, no more than was asked for and offered either.
	unsigned responder_resources = 16;
	unsigned initiator_depth = 16;
	/// Whether a Send that finds no Receive is tried again, without end; otherwise the connection is lost with it. Only who
	/// connects can do without. Over iWARP nobody tries again.
	bool rnr_retry = true;
};

/// Whether an RDMA Read or Write worked; the text is the completion's status where it did not, and the connection is
/// then broken.
struct Transferred {
	bool ok = false;
	std::string status;
	/// It never went out, or nobody knows what became of it: this end's device refused it, or it did not complete in
	/// time. That says nothing about the other end.
	bool inconclusive = false;
	/// It did not complete by the deadline; this end has given the connection up since.
	bool timed_out = false;

	/// The other end's device has said that the memory is not, or no longer, open to this one. Not every device says so
	/// before it ends the connection.
	[[nodiscard]] bool is_refused() const { return !ok && status == "remote access error"; }
};

/// One queue pair that is, or was, connected.
class Connection {
    public:
	/// Connects to a server. Throws NotConnected, or VerbsError where there is no device for the address.
	static Connection connect(const std::string &host, std::uint16_t port, const ConnectionSettings &settings,
				  Deadline deadline);

	~Connection();
	Connection(Connection &&) noexcept;
	Connection &operator=(Connection &&) noexcept;

	/// What the other end sent while connecting.
	[[nodiscard]] const Bytes &private_data() const noexcept;
	/// "10.9.0.1:20049".
	[[nodiscard]] std::string peer_address() const;

	/// Sends a message of any length, and waits for its completion (so that it is known to have arrived, or not).
	/// With @invalidate, as a Send With Invalidate of that handle. Throws nothing where the connection breaks: the
	/// result says so.
	Transferred send(ByteView message, std::optional<std::uint32_t> invalidate, Deadline deadline);
	/// Several messages with one doorbell, in their order, none waiting for another.
	Transferred send_all(const std::vector<Bytes> &messages, Deadline deadline);

	/// RDMA Read of a segment into memory at @offset.
	Transferred read(const Segment &from, Memory &into, std::size_t offset, Deadline deadline);
	/// RDMA Write of @length bytes of memory at @offset.
	Transferred write(const Memory &from, std::size_t offset, std::size_t length, const Segment &to,
			  Deadline deadline);
	/// The same with immediate data, which uses up a Receive of the other end's. iWARP has no such operation.
	Transferred write_with_immediate(const Memory &from, std::size_t offset, std::size_t length, const Segment &to,
					 Deadline deadline);
	/// RDMA Write, and that the other end has let it be: over iWARP a Write completes when it has gone out (RFC 5040, 5.5).
	Transferred write_and_confirm(const Memory &from, std::size_t offset, std::size_t length, const Segment &to,
				      Deadline deadline);

	[[nodiscard]] DeviceInfo device() const;
	/// Whether the device has type-2 memory windows, which Access::window_* needs.
	[[nodiscard]] bool has_windows() const;

	/// The next thing that happens: a message, the end of the connection, or the deadline. A message that has come is
	/// told before an end that came later.
	Event receive(Deadline deadline);

	/// Posts no further Receives. The messages for which none is left then stay with the other end, whose device tries them again
	/// without end (RNR retry).
	void starve() noexcept;
	/// Ends the connection in order (a DREQ). Receives nothing more.
	void disconnect();
	/// Destroys the queue pair and tells nobody.
	void vanish();
	[[nodiscard]] bool connected() const noexcept;

	/// File descriptors, one of which is readable when receive() has something to say. Ask anew before each wait.
	[[nodiscard]] std::vector<int> descriptors() const;

    private:
	struct State;
	explicit Connection(std::unique_ptr<State> state);
	std::unique_ptr<State> state_;
	friend class Memory;
	friend class Request;
};

/// Somebody who wants to connect. Without accept() or reject() the request is rejected when this goes.
class Request {
    public:
	~Request();
	Request(Request &&) noexcept;
	Request &operator=(Request &&) noexcept;

	[[nodiscard]] const Bytes &private_data() const noexcept;
	/// The RDMA Reads that it offers to serve, and wants to have served (its initiator_depth).
	[[nodiscard]] unsigned responder_resources() const noexcept;
	[[nodiscard]] unsigned initiator_depth() const noexcept;

	/// Waits for nobody: where the connection is never established, receive() says Closed. Throws VerbsError.
	Connection accept(const ConnectionSettings &settings) &&;
	/// Waits until it is established. Throws NotConnected where it is not, or not in time.
	Connection accept(const ConnectionSettings &settings, Deadline deadline) &&;
	void reject(ByteView private_data) &&;
	/// Leaves it without an answer.
	void ignore() &&;

    private:
	struct State;
	explicit Request(std::unique_ptr<State> state);
	std::unique_ptr<State> state_;
	friend class Listener;
};

/// Takes connection requests at an address ("" is every address) and a port.
class Listener {
    public:
	Listener(const std::string &host, std::uint16_t port);
	~Listener();
	Listener(Listener &&) noexcept;
	Listener &operator=(Listener &&) noexcept;

	/// The next request; nothing when the deadline passes.
	std::optional<Request> wait(Deadline deadline);
	[[nodiscard]] int descriptor() const noexcept;
	/// The port, also where 0 let the connection manager choose.
	[[nodiscard]] std::uint16_t port() const noexcept;

    private:
	struct State;
	std::unique_ptr<State> state_;
};

/// Waits until one of the descriptors is readable, or the deadline passes. Throws Interrupted where there is an Interruption,
/// and a signal came.
void wait_for_any(const std::vector<int> &descriptors, Deadline deadline);

/// Does nothing for that time. Throws as wait_for_any() does.
void pause(Clock::duration time);

} // namespace peer
