// SPDX-License-Identifier: GPL-2.0-only
//
// Memory that the other end may reach.

#include "verbs/connection_state.hh"

namespace peer {

namespace {

bool is_window(Access access) noexcept
{
	return access >= Access::window_read;
}

int registration_access(Access access) noexcept
{
	return IBV_ACCESS_LOCAL_WRITE | (is_window(access) ? IBV_ACCESS_MW_BIND : remote_access(access));
}

} // namespace

Memory::State::State(Connection::State &of, std::size_t size, Access access)
	: connection(of)
	, region(of.domain.get(), size, registration_access(access))
	, handle(region.registration()->rkey)
{
	if (is_window(access))
		open_window(access);
}

Memory::State::~State()
{
	connection.windows.remove_if([this](const device::Window &other) { return other.get() == window; });
}

void Memory::State::open_window(Access access)
{
	if (connection.closed)
		throw VerbsError("a memory window cannot be bound: " + connection.closed->reason);
	device::Window made = device::make_window(connection.domain.get());
	handle = connection.bind(made.get(), region, access);
	window = made.get();
	connection.windows.push_back(std::move(made));
}

Memory::Memory(Connection &connection, std::size_t size, Access access)
	: state_(std::make_unique<State>(*connection.state_, size, access))
{
}

Memory::~Memory() = default;
Memory::Memory(Memory &&) noexcept = default;
Memory &Memory::operator=(Memory &&) noexcept = default;

std::span<std::uint8_t> Memory::bytes() noexcept
{
	return state_->region.bytes();
}

std::span<const std::uint8_t> Memory::bytes() const noexcept
{
	return state_->region.bytes();
}

Segment Memory::segment(std::size_t offset, std::size_t length) const noexcept
{
	return {.handle = state_->handle,
		.length = static_cast<std::uint32_t>(length),
		.offset = reinterpret_cast<std::uintptr_t>(bytes().data()) + offset};
}

} // namespace peer
