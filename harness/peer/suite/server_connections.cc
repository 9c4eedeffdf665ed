// SPDX-License-Identifier: GPL-2.0-only
//
// Connections, and the memory that a case names.

#include "suite/server_run.hh"

#include <algorithm>
#include <utility>

#include "service/service.hh"

namespace peer {

void Run::connect(const Words &words)
{
	current_ = behind(words, "as").value_or("main");
	PrivateData said = usual_private_data();
	said.send_size = static_cast<std::uint32_t>(number_behind(words, "send", said.send_size));
	said.receive_size = static_cast<std::uint32_t>(number_behind(words, "receive", said.receive_size));
	said.remote_invalidation = contains(words, "invalidation");
	ConnectionSettings settings = {.private_data = encode(said)};
	std::optional<PrivateData> in_force = said;
	if (contains(words, "silent")) {
		settings.private_data.clear();
		in_force.reset();
	}
	if (contains(words, "private")) {
		settings.private_data = private_data_of(words);
		in_force = find_private_data(settings.private_data);
	}
	settings.receives = static_cast<unsigned>(number_behind(words, "receives", settings.receives));
	settings.receive_size = std::max<std::size_t>(said.receive_size, 4096);
	settings.responder_resources =
		static_cast<unsigned>(number_behind(words, "reads", settings.responder_resources));
	settings.rnr_retry = !contains(words, "no-rnr-retry");

	Link &fresh = links_[current_];
	// Memory goes before the connection that it is registered with.
	answered_.reset();
	fresh.outstanding.clear();
	fresh.early_calls.clear();
	fresh.memory.clear();
	fresh.freed.clear();
	fresh.connection.reset();
	fresh.has_session = false;
	fresh.has_backchannel = false;
	fresh.windows = contains(words, "windows");
	fresh.forward_only = contains(words, "forward-only");
	fresh.reverse_credits = static_cast<std::uint32_t>(number_behind(words, "grants", Link().reverse_credits));
	fresh.refused.clear();
	try {
		fresh.connection = std::make_unique<Connection>(Connection::connect(
			server_.target().host, server_.target().port, settings, patience_.deadline()));
		fresh.agreement = in_version(agreement_of(in_force, fresh.connection->private_data()), test_.protocol);
		trace("connected");
		if (fresh.windows && !fresh.connection->has_windows())
			throw Unable("the peer's device has no memory windows of type 2");
	} catch (const NotConnected &error) {
		fresh.refused = error.what();
		fresh.why = error.why;
		trace("not connected: " + fresh.refused);
	}
}

void Run::need(const Line &line)
{
	const Agreement &agreed = (static_cast<void>(link()), links_[current_].agreement);
	const auto fields = [&](const std::string &name) -> std::optional<std::uint64_t> {
		if (name == "call_threshold")
			return agreed.call_threshold;
		if (name == "reply_threshold")
			return agreed.reply_threshold;
		if (name == "invalidated")
			return invalidated_;
		return std::nullopt;
	};
	const Words &words = line.words;
	if (words.at(1) == "private") {
		if (!find_private_data(link().connection->private_data()))
			throw Unable("the server says nothing of itself in private data");
		return;
	}
	const Line comparison = {line.number, Words(words.begin() + 1, words.end())};
	if (const auto wrong = check(comparison, {.value = fields, .memory = {}}, names()))
		throw Unable("the case needs something else: " + *wrong);
}

Link &Run::link()
{
	if (!links_.contains(current_))
		connect({"connect", "as", current_});
	Link &found = links_[current_];
	if (!found.connection)
		throw Violation("no connection came about: " + found.refused);
	return found;
}

void Run::make_memory(const Words &words)
{
	static const std::map<std::string, Access> ACCESS = {
		{"none", Access::none},
		{"read", Access::read},
		{"write", Access::write},
		{"read-write", Access::read_write},
		{"window-read", Access::window_read},
		{"window-write", Access::window_write},
	};
	const auto access = ACCESS.find(words.at(3));
	if (access == ACCESS.end())
		throw ScriptError("access is none, read, write, read-write, window-read or window-write");
	Link &owner = link();
	Memory memory(*owner.connection, evaluate(words.at(2), {}), access->second);
	const Bytes content = pattern(0, memory.bytes().size(), MEMORY_SEED);
	std::copy(content.begin(), content.end(), memory.bytes().begin());
	owner.memory.insert_or_assign(words.at(1), std::move(memory));
}

void Run::free_memory(const std::string &name)
{
	Link &owner = link();
	const auto found = owner.memory.find(name);
	if (found == owner.memory.end())
		throw ScriptError("there is no memory called '" + name + "'");
	owner.freed.insert_or_assign(name, found->second.segment());
	owner.memory.erase(found);
}

Transaction *Run::last_call()
{
	Link &here = link();
	return here.outstanding.empty() ? answered_.get() : here.outstanding.back().second.get();
}

std::optional<Segment> Run::named_segment(const std::string &name)
{
	const std::size_t dot = name.find('.');
	if (name.starts_with("earlier.")) {
		const Memory *const memory = last_call() ? last_call()->memory(name.substr(dot + 1)) : nullptr;
		return memory ? std::optional(memory->segment()) : std::nullopt;
	}
	const auto owner = links_.find(dot == std::string::npos ? current_ : name.substr(0, dot));
	if (owner == links_.end())
		return std::nullopt;
	const std::string own_name = dot == std::string::npos ? name : name.substr(dot + 1);
	if (const auto memory = owner->second.memory.find(own_name); memory != owner->second.memory.end())
		return memory->second.segment();
	if (const auto gone = owner->second.freed.find(own_name); gone != owner->second.freed.end())
		return gone->second;
	return std::nullopt;
}

Names Run::names()
{
	const auto find = [this](const std::string &name) { return named_segment(name); };
	return {.value = [this, find](const std::string &name) -> std::optional<std::uint64_t> {
			if (name == "granted")
				return granted_;
			if (name == "highest")
				return std::max(server_.target().highest_version, test_.protocol);
			if (name == "earlier.xid" && last_call())
				return last_call()->frame().header.xid;
			if (name == "reverse.xid" && links_.at(current_).reverse_call)
				return links_.at(current_).reverse_call->header.xid;
			return value_of_memory(name, find);
		},
		.memory = find};
}

} // namespace peer
