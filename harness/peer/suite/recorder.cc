// SPDX-License-Identifier: GPL-2.0-only

#include "suite/recorder.hh"

namespace peer {

Recorder::Recorder(CaseResult &result)
	: result_(result)
{
	result.messages.clear();
	result.messages_left_out = 0;
}

void Recorder::note(const std::string &connection, bool is_sent, ByteView message,
		    std::optional<std::uint32_t> invalidates)
{
	std::vector<Exchanged> &messages = result_.messages;
	if (messages.size() == FIRST + LAST) {
		messages.erase(messages.begin() + FIRST);
		result_.messages_left_out++;
	}
	messages.push_back({.seconds = std::chrono::duration<double>(Clock::now() - begun_).count(),
			    .connection = connection,
			    .is_sent = is_sent,
			    .bytes = bytes_of(message),
			    .invalidates = invalidates});
}

} // namespace peer
