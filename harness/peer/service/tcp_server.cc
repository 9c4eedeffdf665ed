// SPDX-License-Identifier: GPL-2.0-only

#include "service/tcp_server.hh"

#include <cerrno>
#include <map>
#include <netdb.h>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace peer {

namespace {

constexpr int BACKLOG = 16;
constexpr std::uint32_t LAST_FRAGMENT = 0x80000000;
constexpr std::size_t MARK = 4;
constexpr std::size_t LONGEST_RECORD = 4 << 20;

[[noreturn]] void fail(const std::string &what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

class Descriptor {
    public:
	explicit Descriptor(int number = -1) noexcept
		: number_(number)
	{
	}
	Descriptor(Descriptor &&other) noexcept
		: number_(std::exchange(other.number_, -1))
	{
	}
	Descriptor &operator=(Descriptor &&other) noexcept
	{
		std::swap(number_, other.number_);
		return *this;
	}
	~Descriptor()
	{
		if (number_ >= 0)
			close(number_);
	}
	[[nodiscard]] int number() const noexcept { return number_; }

    private:
	int number_;
};

struct AddressesFreer {
	void operator()(addrinfo *addresses) const noexcept { freeaddrinfo(addresses); }
};

Descriptor listen_at(const std::string &host, std::uint16_t port)
{
	const std::string where = (host.empty() ? "any address" : host) + ", TCP port " + std::to_string(port);
	addrinfo hints{};
	hints.ai_flags = AI_PASSIVE;
	hints.ai_socktype = SOCK_STREAM;
	hints.ai_family = host.empty() ? AF_INET6 : AF_UNSPEC; // IPv6's wildcard stands for both families
	addrinfo *found = nullptr;
	if (const int status =
		    getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found);
	    status != 0)
		throw std::system_error(EADDRNOTAVAIL, std::generic_category(), where + ": " + gai_strerror(status));
	const std::unique_ptr<addrinfo, AddressesFreer> addresses(found);
	Descriptor listener(socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	if (listener.number() < 0)
		fail("a socket for " + where);
	const int on = 1;
	setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(listener.number(), found->ai_addr, found->ai_addrlen) < 0 || listen(listener.number(), BACKLOG) < 0)
		fail("cannot listen at " + where);
	return listener;
}

std::uint16_t port_of(const Descriptor &listener)
{
	sockaddr_storage address{};
	socklen_t length = sizeof address;
	if (getsockname(listener.number(), reinterpret_cast<sockaddr *>(&address), &length) < 0)
		fail("which port a socket listens at");
	return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6 &>(address).sin6_port :
						     reinterpret_cast<const sockaddr_in &>(address).sin_port);
}

// One connection, with what has not been made a record of or sent yet.
class Stream {
    public:
	explicit Stream(Descriptor socket)
		: socket_(std::move(socket))
	{
	}

	[[nodiscard]] pollfd wanted() const noexcept
	{
		const int out = out_.empty() ? 0 : POLLOUT;
		return {.fd = socket_.number(), .events = static_cast<short>(POLLIN | out), .revents = 0};
	}

	// Takes what has arrived; false at the connection's end.
	bool receive()
	{
		std::uint8_t buffer[65536];
		const ssize_t length = recv(socket_.number(), buffer, sizeof buffer, 0);
		if (length < 0)
			return errno == EAGAIN || errno == EINTR;
		in_.insert(in_.end(), buffer, buffer + length);
		return length > 0;
	}

	// The next record, once all its fragments are here. Throws Malformed.
	std::optional<Bytes> record()
	{
		while (in_.size() >= MARK) {
			XdrReader xdr(in_);
			const std::uint32_t mark = xdr.u32("a record's mark");
			const std::size_t length = mark & ~LAST_FRAGMENT;
			if (record_.size() + length > LONGEST_RECORD)
				throw Malformed("a record is longer than 4 MiB");
			if (in_.size() < MARK + length)
				return std::nullopt;
			const auto first = in_.begin() + MARK;
			record_.insert(record_.end(), first, first + static_cast<std::ptrdiff_t>(length));
			in_.erase(in_.begin(), first + static_cast<std::ptrdiff_t>(length));
			if (mark & LAST_FRAGMENT)
				return std::exchange(record_, {});
		}
		return std::nullopt;
	}

	void queue(ByteView record)
	{
		XdrWriter xdr;
		xdr.u32(LAST_FRAGMENT | static_cast<std::uint32_t>(record.size()));
		const Bytes mark = xdr.take();
		out_.insert(out_.end(), mark.begin(), mark.end());
		out_.insert(out_.end(), record.begin(), record.end());
	}

	// Sends what can be sent without waiting; false where the connection has ended.
	bool send()
	{
		if (out_.empty())
			return true;
		const ssize_t sent = ::send(socket_.number(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0)
			return errno == EAGAIN || errno == EINTR;
		out_.erase(out_.begin(), out_.begin() + sent);
		return true;
	}

    private:
	Descriptor socket_;
	Bytes in_;
	Bytes record_;
	Bytes out_;
};

} // namespace

struct TcpServer::State {
	State(const std::string &host, std::uint16_t asked_port, Answer answer, Closed closed)
		: answer_(std::move(answer))
		, closed_(std::move(closed))
		, listener_(listen_at(host, asked_port))
		, port(port_of(listener_))
		, stop_(eventfd(0, EFD_CLOEXEC))
	{
		if (stop_.number() < 0)
			fail("an eventfd");
		thread_ = std::thread([this] { serve(); });
	}

	~State()
	{
		eventfd_write(stop_.number(), 1);
		thread_.join();
	}

    private:
	void serve()
	{
		for (;;) {
			std::vector<pollfd> polled = {{.fd = stop_.number(), .events = POLLIN, .revents = 0},
						      {.fd = listener_.number(), .events = POLLIN, .revents = 0}};
			std::vector<std::uint64_t> numbers;
			for (const auto &[number, stream] : streams_) {
				polled.push_back(stream.wanted());
				numbers.push_back(number);
			}
			if (poll(polled.data(), polled.size(), -1) < 0)
				continue; // only a signal can be why
			if (polled[0].revents)
				return;
			for (std::size_t i = 0; i < numbers.size(); i++)
				if (polled[2 + i].revents && !move(numbers[i], polled[2 + i].revents))
					end(numbers[i]);
			if (polled[1].revents)
				accept_one();
		}
	}

	void accept_one()
	{
		Descriptor socket(accept4(listener_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
		if (socket.number() >= 0)
			streams_.emplace(next_++, Stream(std::move(socket)));
	}

	// False where the connection has ended.
	bool move(std::uint64_t number, short events)
	{
		Stream &stream = streams_.at(number);
		if ((events & ~POLLOUT) && !stream.receive())
			return false;
		try {
			while (const std::optional<Bytes> call = stream.record())
				stream.queue(answer_(*call, number));
		} catch (const Malformed &) {
			return false;
		}
		return stream.send();
	}

	void end(std::uint64_t number)
	{
		streams_.erase(number);
		if (closed_)
			closed_(number);
	}

	Answer answer_;
	Closed closed_;
	Descriptor listener_;

    public:
	const std::uint16_t port;

    private:
	Descriptor stop_;
	std::map<std::uint64_t, Stream> streams_;
	std::uint64_t next_ = 1;
	std::thread thread_;
};

TcpServer::TcpServer(const std::string &host, std::uint16_t port, Answer answer, Closed closed)
	: state_(std::make_unique<State>(host, port, std::move(answer), std::move(closed)))
{
}

TcpServer::~TcpServer() = default;

std::uint16_t TcpServer::port() const noexcept
{
	return state_->port;
}

} // namespace peer
