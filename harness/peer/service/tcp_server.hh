// SPDX-License-Identifier: GPL-2.0-only
//
// RPC over TCP: records in, records out (RFC 5531, section 11).

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "codec/xdr.hh"

namespace peer {

/// Listens for RPC over TCP, and answers in a thread of its own.
class TcpServer {
    public:
	/// Makes a Reply of a Call. Connections are told apart by their number. A connection whose Call throws Malformed is
	/// closed.
	using Answer = std::function<Bytes(ByteView call, std::uint64_t connection)>;
	using Closed = std::function<void(std::uint64_t connection)>;

	/// Listens; at any address where @host is empty. Throws std::system_error.
	TcpServer(const std::string &host, std::uint16_t port, Answer answer, Closed closed = {});
	/// Closes all connections. None of the functions is called any more.
	~TcpServer();

	/// The port, also where 0 let the kernel choose.
	[[nodiscard]] std::uint16_t port() const noexcept;

    private:
	struct State;
	std::unique_ptr<State> state_;
};

} // namespace peer
