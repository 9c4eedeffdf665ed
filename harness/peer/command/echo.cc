// SPDX-License-Identifier: GPL-2.0-only

#include "command/echo.hh"

namespace peer {

namespace {

// The first message on a connection is the echo's: these letters, and its memory.
constexpr std::uint32_t GREETING = 0x6563686f; // "echo"

Bytes encode_greeting(const Segment &memory)
{
	XdrWriter xdr;
	xdr.u32(GREETING);
	xdr.u32(memory.handle);
	xdr.u32(memory.length);
	xdr.u64(memory.offset);
	return xdr.take();
}

Segment decode_greeting(ByteView message)
{
	XdrReader xdr(message);
	if (xdr.u32("the greeting") != GREETING)
		throw Malformed("the first message is not an echo's greeting");
	Segment memory;
	memory.handle = xdr.u32("the greeting");
	memory.length = xdr.u32("the greeting");
	memory.offset = xdr.u64("the greeting");
	return memory;
}

// One message, and those that have come with it. Nothing where the connection has ended.
std::vector<Bytes> receive_all(Connection &connection)
{
	std::vector<Bytes> messages;
	Deadline deadline = Deadline::max();
	for (;;) {
		Event event = connection.receive(deadline);
		if (!std::holds_alternative<Message>(event))
			return messages;
		messages.push_back(std::move(std::get<Message>(event).bytes));
		deadline = Clock::now();
	}
}

} // namespace

bool serve_echo(Listener &listener, Deadline deadline)
{
	std::optional<Request> request = listener.wait(deadline);
	if (!request)
		return false;
	Connection connection = std::move(*request).accept({}, Clock::now() + std::chrono::seconds(10));
	const Memory memory(connection, ECHO_MEMORY, Access::read_write);
	connection.send(encode_greeting(memory.segment()), {}, Deadline::max());
	for (;;) {
		const std::vector<Bytes> messages = receive_all(connection);
		if (messages.empty())
			return true;
		connection.send_all(messages, Deadline::max());
	}
}

Echo connect_to_echo(const std::string &host, std::uint16_t port, const ConnectionSettings &settings, Deadline deadline)
{
	Connection connection = Connection::connect(host, port, settings, deadline);
	const Event event = connection.receive(deadline);
	const auto *message = std::get_if<Message>(&event);
	const std::string not_an_echo = connection.peer_address() + " is not an echo: start `rpcordma-peer ping "
								    "--listen` there";
	if (!message)
		throw VerbsError(not_an_echo);
	try {
		const Segment memory = decode_greeting(message->bytes);
		return {std::move(connection), memory};
	} catch (const Malformed &malformed) {
		throw VerbsError(not_an_echo + " (" + malformed.what() + ")");
	}
}

} // namespace peer
