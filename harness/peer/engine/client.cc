// SPDX-License-Identifier: GPL-2.0-only

#include "engine/client.hh"

#include <utility>

namespace peer {

PrivateData usual_private_data() noexcept
{
	return {.send_size = 4096, .receive_size = 4096, .remote_invalidation = false};
}

namespace {

Connection connect_once(const Target &target, Deadline deadline)
{
	return Connection::connect(target.host, target.port, {.private_data = encode(usual_private_data())}, deadline);
}

} // namespace

Connection connect_at_last(const Target &target, Deadline deadline)
{
	using Why = NotConnected::Why;
	for (;;) {
		try {
			return connect_once(target, deadline);
		} catch (const NotConnected &error) {
			const bool may_pass = error.why == Why::rejected || error.why == Why::timeout ||
					      error.why == Why::broken;
			if (!may_pass || Clock::now() >= deadline)
				throw;
		}
	}
}

Client::Client(const Target &target, Patience patience)
	: Client(connect_once(target, patience.deadline()), patience)
{
}

Client::Client(Connection connection, Patience patience)
	: patience_(patience)
	, connection_(std::move(connection))
	, agreement_(agreement_of(usual_private_data(), connection_.private_data()))
	, xid_(first_xid())
{
}

Client::~Client()
{
	connection_.disconnect();
}

Reply Client::call(const NfsCall &call, Style style)
{
	const Deadline deadline = patience_.deadline();
	const Transaction transaction(connection_, agreement_, call, style, {}, {});
	if (const Transferred sent = connection_.send(transaction.frame().bytes(), std::nullopt, deadline); !sent.ok)
		throw Violation(call.name + " could not be sent: " + sent.status);
	for (;;) {
		const Event event = connection_.receive(deadline);
		if (const auto *const closed = std::get_if<Closed>(&event))
			throw Violation("the connection ended instead of a Reply to " + call.name + ": " +
					closed->reason);
		if (std::holds_alternative<TimedOut>(event))
			throw Violation("no Reply came to " + call.name);
		const Message &message = std::get<Message>(event);
		// Calls in the reverse direction have an XID of their own (RFC 8167, 5.1).
		if (XdrReader(message.bytes).u32("rdma_xid") != transaction.frame().header.xid)
			continue;
		Reply reply = transaction.judge(message);
		granted_ = reply.header.credits;
		return reply;
	}
}

Encounter Client::encounter() const
{
	return {.device = connection_.device(),
		.announced = find_private_data(connection_.private_data()),
		.agreement = agreement_,
		.credits = granted_};
}

} // namespace peer
