// SPDX-License-Identifier: GPL-2.0-only

#include "report/capture.hh"

#include <map>
#include <ostream>
#include <string_view>

namespace peer {

namespace {

// Bytes in either order: frames are in that of the network, what is around them in that of little-endian machines.
class Writer {
    public:
	template <typename Number> Writer &big(Number number)
	{
		for (std::size_t i = sizeof(number); i-- > 0;)
			text_ += static_cast<char>(number >> 8 * i);
		return *this;
	}

	template <typename Number> Writer &little(Number number)
	{
		for (std::size_t i = 0; i < sizeof(number); i++)
			text_ += static_cast<char>(number >> 8 * i);
		return *this;
	}

	Writer &text(std::string_view more)
	{
		text_ += more;
		return *this;
	}

	Writer &zeros(std::size_t count)
	{
		text_.append(count, '\0');
		return *this;
	}

	[[nodiscard]] const std::string &take() const noexcept { return text_; }

    private:
	std::string text_;
};

std::size_t padding_of(std::size_t size)
{
	return -size % 4;
}

// Frames: Ethernet, IPv4, UDP, InfiniBand (RoCE version 2)

constexpr std::uint32_t TESTER = 0xc0000201; // 192.0.2.1, for documentation (RFC 5737)
constexpr std::uint32_t TESTED = 0xc0000202;
constexpr std::uint16_t ROCE_PORT = 4791;
constexpr std::size_t UDP_HEADER = 8;
constexpr std::size_t IP_HEADER = 20;
// A Send has one packet where IPv4 has room for it, and else several.
constexpr std::size_t LONGEST_PAYLOAD = 61440;

// Of a reliable connection.
enum Opcode : std::uint8_t {
	SEND_FIRST = 0,
	SEND_MIDDLE = 1,
	SEND_LAST = 2,
	SEND_ONLY = 4,
	SEND_LAST_WITH_INVALIDATE = 22,
	SEND_ONLY_WITH_INVALIDATE = 23,
};

struct Packet {
	bool from_tester = true;
	std::uint8_t opcode = SEND_ONLY;
	std::uint32_t queue_pair = 0; // of the receiver
	std::uint32_t number = 0;
	std::string headers; // behind the base transport header
	std::string_view payload;
};

std::string infiniband(const Packet &packet)
{
	constexpr std::uint16_t DEFAULT_PARTITION = 0xffff;
	const std::size_t padding = padding_of(packet.payload.size());
	return Writer()
		.big(packet.opcode)
		.big(static_cast<std::uint8_t>(padding << 4))
		.big(DEFAULT_PARTITION)
		.big(packet.queue_pair)
		.big(packet.number)
		.text(packet.headers)
		.text(packet.payload)
		.zeros(padding)
		.zeros(sizeof(std::uint32_t)) // the invariant CRC, which nobody checks
		.take();
}

std::string frame_of(const Packet &packet)
{
	constexpr std::uint16_t IPV4 = 0x0800;
	constexpr std::uint8_t UDP = 17;
	constexpr std::uint8_t HOPS = 64;
	const std::string content = infiniband(packet);
	const auto udp_size = static_cast<std::uint16_t>(UDP_HEADER + content.size());
	return Writer()
		// Ethernet: addresses that nobody has been given.
		.text(std::string_view("\x02\0\0\0\0", 5))
		.big(static_cast<std::uint8_t>(packet.from_tester ? 2 : 1))
		.text(std::string_view("\x02\0\0\0\0", 5))
		.big(static_cast<std::uint8_t>(packet.from_tester ? 1 : 2))
		.big(IPV4)
		// IPv4, without checksum, as network cards leave it.
		.big(std::uint16_t{0x4500})
		.big(static_cast<std::uint16_t>(IP_HEADER + udp_size))
		.zeros(4)
		.big(HOPS)
		.big(UDP)
		.zeros(2)
		.big(packet.from_tester ? TESTER : TESTED)
		.big(packet.from_tester ? TESTED : TESTER)
		// UDP
		.big(std::uint16_t{49152})
		.big(ROCE_PORT)
		.big(udp_size)
		.zeros(2)
		.text(content)
		.take();
}

std::uint8_t opcode_of(bool is_first, bool is_last, bool invalidates)
{
	if (!is_last)
		return is_first ? SEND_FIRST : SEND_MIDDLE;
	if (is_first)
		return invalidates ? SEND_ONLY_WITH_INVALIDATE : SEND_ONLY;
	return invalidates ? SEND_LAST_WITH_INVALIDATE : SEND_LAST;
}

// The queue pairs of the connections, and the next packet's number of each.
class Numbering {
    public:
	std::uint32_t queue_pair(const std::string &connection, bool of_tester)
	{
		const auto base = static_cast<std::uint32_t>(
			FIRST_PAIR + 2 * connections_.try_emplace(connection, connections_.size()).first->second);
		return base + (of_tester ? 0 : 1);
	}

	std::uint32_t next_number(std::uint32_t queue_pair) { return numbers_[queue_pair]++; }

    private:
	static constexpr std::size_t FIRST_PAIR = 0x10;

	std::map<std::string, std::size_t> connections_;
	std::map<std::uint32_t, std::uint32_t> numbers_;
};

std::vector<std::string> frames_of(const Exchanged &message, const std::string &connection, Numbering &numbering)
{
	const std::string_view all(reinterpret_cast<const char *>(message.bytes.data()), message.bytes.size());
	std::vector<std::string> frames;
	std::size_t at = 0;
	do {
		const std::string_view part = all.substr(at, LONGEST_PAYLOAD);
		const bool is_last = at + part.size() == all.size();
		Packet packet = {.from_tester = message.is_sent,
				 .opcode = opcode_of(at == 0, is_last, message.invalidates.has_value()),
				 .queue_pair = numbering.queue_pair(connection, !message.is_sent),
				 .headers = {},
				 .payload = part};
		packet.number = numbering.next_number(packet.queue_pair);
		if (is_last && message.invalidates)
			packet.headers = Writer().big(*message.invalidates).take();
		frames.push_back(frame_of(packet));
		at += part.size();
	} while (at < all.size());
	return frames;
}

// The file: blocks of pcapng

void write_block(std::ostream &out, std::uint32_t type, const std::string &content)
{
	const auto size = static_cast<std::uint32_t>(content.size() + 3 * sizeof(std::uint32_t));
	out << Writer().little(type).little(size).text(content).little(size).take();
}

void write_beginning(std::ostream &out)
{
	constexpr std::uint32_t SECTION = 0x0a0d0d0a;
	constexpr std::uint32_t ENDIANNESS = 0x1a2b3c4d;
	constexpr std::uint32_t INTERFACE = 1;
	constexpr std::uint16_t ETHERNET = 1;
	constexpr std::int64_t UNKNOWN_SIZE = -1;
	write_block(out, SECTION,
		    Writer().little(ENDIANNESS)
			    .little(std::uint16_t{1})
			    .little(std::uint16_t{0})
			    .little(UNKNOWN_SIZE)
			    .take());
	write_block(out, INTERFACE, Writer().little(ETHERNET).zeros(2).little(std::uint32_t{0}).take());
}

void write_packet(std::ostream &out, double seconds, const std::string &frame, const std::string &comment)
{
	constexpr std::uint32_t ENHANCED_PACKET = 6;
	constexpr std::uint16_t COMMENT = 1;
	const auto time = static_cast<std::uint64_t>(seconds * 1e6);
	const auto size = static_cast<std::uint32_t>(frame.size());
	write_block(out, ENHANCED_PACKET,
		    Writer().zeros(sizeof(std::uint32_t)) // the interface
			    .little(static_cast<std::uint32_t>(time >> 32))
			    .little(static_cast<std::uint32_t>(time))
			    .little(size)
			    .little(size)
			    .text(frame)
			    .zeros(padding_of(frame.size()))
			    .little(COMMENT)
			    .little(static_cast<std::uint16_t>(comment.size()))
			    .text(comment)
			    .zeros(padding_of(comment.size()))
			    .zeros(sizeof(std::uint32_t)) // the end of the options
			    .take());
}

} // namespace

void write_capture(std::ostream &out, const std::vector<CaseResult> &results)
{
	Numbering numbering;
	double begin = 0;
	write_beginning(out);
	for (const CaseResult &result : results) {
		for (const Exchanged &message : result.messages)
			for (const std::string &frame :
			     frames_of(message, result.name + " " + message.connection, numbering))
				write_packet(out, begin + message.seconds, frame, result.name);
		begin += result.messages.empty() ? 0 : result.messages.back().seconds;
	}
}

} // namespace peer
