// SPDX-License-Identifier: GPL-2.0-only

#include "fuzz/fuzz.hh"

#include <algorithm>

#include "fuzz/mutation.hh"

namespace peer {

std::optional<Header> header_of(ByteView message)
try {
	return decode(message).header;
} catch (const Malformed &) {
	return std::nullopt;
}

std::string kind_of(const std::optional<Header> &answer)
{
	if (!answer)
		return "malformed";
	if (answer->type == RDMA2_OPTIONAL)
		return "OPTIONAL";
	if (answer->type != RDMA_ERROR)
		return "Reply";
	const std::string error = name_of_error(*answer);
	return error.substr(0, error.find(' '));
}

std::string reason_of(const Closed &end)
{
	return end.by_disconnect ? "disconnected" : end.reason;
}

Bytes changed_message(Frame frame, std::size_t front, std::size_t threshold, Dice &dice)
{
	const bool is_well_formed = dice.one_in(2);
	if (is_well_formed)
		change(frame.header, dice);
	Bytes message = frame.bytes();
	const std::size_t header = message.size() - std::min(message.size(), frame.payload.size());
	for (std::size_t times = is_well_formed ? dice.below(2) : 1 + dice.below(4); times > 0; times--)
		damage(message, header + front, dice);
	// What is too long for a Receive costs the connection, and says nothing new.
	if (constexpr std::size_t RARELY = 100; message.size() > threshold && !dice.one_in(RARELY))
		message.resize(threshold);
	return message;
}

} // namespace peer
