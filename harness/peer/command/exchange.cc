// SPDX-License-Identifier: GPL-2.0-only

#include "command/exchange.hh"

#include <algorithm>

#include "engine/client.hh"

namespace peer {

namespace {

constexpr std::uint32_t NULL_PROCEDURE = 0;

void expect_sent(const Transferred &sent)
{
	if (!sent.ok)
		throw Violation("a message could not be sent: " + sent.status);
}

// The next message, or nothing where the deadline passes first.
std::optional<Bytes> next_message(Connection &connection, Deadline deadline)
{
	Event event = connection.receive(deadline);
	if (const auto *closed = std::get_if<Closed>(&event))
		throw Violation("the connection ended before all answers had come: " + closed->reason);
	if (auto *message = std::get_if<Message>(&event))
		return std::move(message->bytes);
	return {};
}

Bytes wait_for_message(Connection &connection, Deadline deadline)
{
	std::optional<Bytes> message = next_message(connection, deadline);
	if (!message)
		throw Violation("no answer came in time");
	return *std::move(message);
}

} // namespace

NullCalls::NullCalls(const Address &server, std::uint32_t nfs_version, const ExchangeSettings &settings)
	: settings_(settings)
	, nfs_version_(nfs_version)
	, connection_(Connection::connect(server.host, server.port,
					  {.private_data = encode(usual_private_data()),
					   .receives = settings.depth,
					   .receive_size = usual_private_data().receive_size},
					  settings.deadline()))
	, xid_(first_xid())
{
}

Bytes NullCalls::call(std::uint32_t xid) const
{
	XdrWriter rpc;
	write(rpc, CallHeader{.xid = xid,
			      .program = NFS_PROGRAM,
			      .version = nfs_version_,
			      .procedure = NULL_PROCEDURE,
			      .auth_sys = false});
	const Bytes payload = rpc.take();
	Bytes message = encode(Header{.xid = xid, .version = settings_.protocol, .credits = settings_.depth});
	message.insert(message.end(), payload.begin(), payload.end());
	return message;
}

std::size_t NullCalls::size() const
{
	return call(xid_).size();
}

void NullCalls::send(unsigned count)
{
	std::vector<Bytes> calls;
	for (unsigned i = 0; i < count; i++) {
		waiting_.insert(++xid_);
		calls.push_back(call(xid_));
	}
	expect_sent(connection_.send_all(calls, settings_.deadline()));
}

void NullCalls::take_answer()
{
	take(wait_for_message(connection_, settings_.deadline()));
}

bool NullCalls::try_answer()
{
	const std::optional<Bytes> message = next_message(connection_, Clock::now());
	if (message)
		take(*message);
	return message.has_value();
}

void NullCalls::take(ByteView message)
{
	const Decoded reply = decode(message);
	if (waiting_.erase(reply.header.xid) == 0)
		throw Violation("a message came that answers no Call: " + describe(reply.header));
	if (reply.header.type != RDMA_MSG || reply.header.version != settings_.protocol ||
	    (settings_.protocol == VERSION_2 && reply.header.direction != DIRECTION_REPLY))
		throw Violation("a NULL call was answered with " + describe(reply.header));
	XdrReader xdr(reply.payload);
	const ReplyHeader rpc = read_reply(xdr);
	if (!rpc.accepted || rpc.status != RPC_SUCCESS)
		throw Violation("the server refuses NULL calls of NFS version " + std::to_string(nfs_version_) +
				"; --nfs-version chooses another");
	if (reply.header.credits == 0)
		throw Violation("a Reply granted no credits");
	credits_ = reply.header.credits;
}

unsigned NullCalls::room() const noexcept
{
	const std::uint32_t allowed = std::min(credits_, settings_.depth);
	const auto taken = static_cast<std::uint32_t>(waiting_.size());
	return allowed > taken ? allowed - taken : 0;
}

EchoedMessages::EchoedMessages(Connection &echo, std::size_t size, const ExchangeSettings &settings)
	: settings_(settings)
	, connection_(echo)
	, message_(size)
{
}

std::size_t EchoedMessages::size() const
{
	return message_.size();
}

void EchoedMessages::send(unsigned count)
{
	expect_sent(connection_.send_all(std::vector(count, message_), settings_.deadline()));
	waiting_ += count;
}

void EchoedMessages::take_answer()
{
	take(wait_for_message(connection_, settings_.deadline()));
}

bool EchoedMessages::try_answer()
{
	const std::optional<Bytes> message = next_message(connection_, Clock::now());
	if (message)
		take(*message);
	return message.has_value();
}

void EchoedMessages::take(ByteView message)
{
	if (waiting_ == 0 || message.size() != message_.size())
		throw Violation("the echo sent something of its own");
	waiting_--;
}

unsigned EchoedMessages::room() const noexcept
{
	return settings_.depth - waiting_;
}

} // namespace peer
