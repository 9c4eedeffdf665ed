// SPDX-License-Identifier: GPL-2.0-only
//
// The Calls that the client sends, and what a case says of them.

#include "suite/client_run.hh"

#include <algorithm>
#include <utility>

#include "suite/export.hh"

namespace peer {

bool Suite::is_of(const Instance &instance, const ArrivedCall &call)
{
	const std::string directory = "/cases/" + instance.name;
	return call.served.path == directory || call.served.path.starts_with(directory + "/");
}

bool Suite::is_of_later_case(const ArrivedCall &call) const
{
	const auto later = instances_.begin() + (instance_ - instances_.data()) + 1;
	return std::any_of(later, instances_.end(), [&](const Instance &instance) { return is_of(instance, call); });
}

void Suite::meet(const ArrivedCall &call)
{
	if (std::exchange(has_met_, true))
		return;
	hooks_.met({.device = responder_.connection(call.connection)->device(),
		    .announced = find_private_data(responder_.last_private_data()),
		    .agreement = *responder_.agreement(call.connection),
		    .credits = call.message.header.credits});
}

bool Suite::take_call(ArrivedCall &call)
{
	meet(call);
	// While "serve" lasts, a quick client may have gone on already: its next case has not begun here.
	if (instance_ && is_of_later_case(call)) {
		early_.push_back(std::move(call));
		return true;
	}
	if (!instance_ || awaited_operation_ != call.served.operation || !(is_of_case(call) || awaits_any_file_) ||
	    held_count() == awaited_calls_)
		return false;
	if (held_)
		held_beside_.push_back(std::move(call));
	else
		held_ = std::move(call);
	return true;
}

bool Suite::take_request(Request &request)
{
	if (!awaits_request_ || held_request_)
		return false;
	held_request_.emplace(std::move(request));
	return true;
}

Names Suite::names()
{
	return {.value = [this](const std::string &name) -> std::optional<std::uint64_t> {
			if (const auto noted = noted_.find(name); noted != noted_.end())
				return noted->second;
			if (name == "highest")
				return highest_version();
			if (!held_)
				return std::nullopt;
			if (name == "xid")
				return held_->message.header.xid;
			if (const Agreement *const agreement = responder_.agreement(held_->connection)) {
				const Agreement agreed = in_version(*agreement, held_->message.header.version);
				if (name == "call_threshold")
					return agreed.call_threshold;
				if (name == "reply_threshold")
					return agreed.reply_threshold;
			}
			if (name == "message")
				return last_.bytes().size();
			if (const ArrivedCall *const call = named_call(name))
				return field_of(*call, name.substr(name.find('.') + 1));
			return std::nullopt;
		},
		.memory = [this](const std::string &name) { return memory(name); }};
}

std::uint32_t Suite::highest_version() const
{
	return std::max(settings_.highest_version, instance_->test->protocol);
}

const ArrivedCall *Suite::named_call(const std::string &name) const
{
	if (held_ && name.starts_with("call."))
		return &*held_;
	if (!held_beside_.empty() && name.starts_with("other."))
		return &held_beside_.front();
	return nullptr;
}

std::optional<std::uint64_t> Suite::field_of(const ArrivedCall &call, const std::string &name)
{
	if (name == "connection")
		return call.connection;
	if (name == "length")
		return call.message_length;
	if (name == "read.length")
		return length_of_reads(call.message.header);
	if (name == "read.length%4")
		return length_of_reads(call.message.header) % 4;
	return field_or_remainder(call.message.header, name);
}

std::optional<std::uint64_t> Suite::field_or_remainder(const Header &header, const std::string &name)
{
	if (!name.ends_with("%4"))
		return field(header, name);
	const auto value = field(header, name.substr(0, name.size() - 2));
	return value ? std::optional(*value % 4) : std::nullopt;
}

std::optional<Segment> Suite::memory(const std::string &name)
{
	if (const auto mine = memory_.find(name); mine != memory_.end())
		return mine->second.segment();
	if (const auto mine = remembered_.find(name); mine != remembered_.end())
		return mine->second;
	const ArrivedCall *const call = named_call(name);
	if (!call)
		return std::nullopt;
	const std::string segment = name.substr(name.find('.') + 1);
	const auto handle = field(call->message.header, segment + ".handle");
	const auto offset = field(call->message.header, segment + ".offset");
	const auto length = field(call->message.header, segment + ".length");
	if (!handle || !offset || !length)
		return std::nullopt;
	return Segment{static_cast<std::uint32_t>(*handle), static_cast<std::uint32_t>(*length), *offset};
}

} // namespace peer
