// SPDX-License-Identifier: GPL-2.0-only

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <system_error>
#include <unistd.h>

#include "nfs/nfs.hh"
#include "service/service.hh"

namespace peer {
namespace {

class MountDaemonTest : public testing::Test {
    protected:
	void SetUp() override
	{
		sockaddr_in address{};
		address.sin_family = AF_INET;
		address.sin_port = htons(daemon.port());
		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		const timeval patience = {.tv_sec = 20, .tv_usec = 0};
		setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
		ASSERT_EQ(connect(socket_, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
	}

	~MountDaemonTest() override { close(socket_); }

	// A record in fragments of that many bytes.
	void send_record(ByteView record, std::size_t fragment)
	{
		XdrWriter xdr;
		for (std::size_t at = 0; at < record.size(); at += fragment) {
			const bool last = at + fragment >= record.size();
			const ByteView part = record.subspan(at, std::min(fragment, record.size() - at));
			xdr.u32((last ? 0x80000000U : 0U) | static_cast<std::uint32_t>(part.size()));
			xdr.fixed(part);
		}
		send_bytes(xdr.take());
	}

	void send_bytes(const Bytes &bytes)
	{
		ASSERT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
	}

	Bytes receive(std::size_t length)
	{
		Bytes bytes(length);
		const ssize_t received = recv(socket_, bytes.data(), length, MSG_WAITALL);
		bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(received, 0)));
		return bytes;
	}

	Bytes receive_record()
	{
		const Bytes mark = receive(4);
		if (mark.size() < 4)
			return {};
		const std::uint32_t word = XdrReader(mark).u32("mark");
		EXPECT_TRUE(word & 0x80000000);
		return receive(word & 0x7fffffff);
	}

	MountDaemon daemon{"127.0.0.1", 0};

    private:
	int socket_ = socket(AF_INET, SOCK_STREAM, 0);
};

TEST_F(MountDaemonTest, GivesTheHandleOfTheTreesRoot)
{
	const NfsCall call = nfs3::mount(7, "/");
	Tree tree;
	Service service(tree);
	for (const std::size_t fragment : {1000U, 8U, 4U}) {
		send_record(call.call.stream, fragment);
		EXPECT_EQ(receive_record(), service.serve(call.call.stream, 1).reply.stream);
	}
}

TEST_F(MountDaemonTest, AnswersSeveralCallsInTheirOrder)
{
	for (std::uint32_t xid = 1; xid <= 50; xid++)
		send_record(nfs3::mount(xid, "/").call.stream, 1000);
	for (std::uint32_t xid = 1; xid <= 50; xid++) {
		const Bytes reply = receive_record();
		EXPECT_EQ(nfs3::mount(xid, "/").read(reply).xid, xid);
	}
}

TEST_F(MountDaemonTest, HasNothingButTheRoot)
{
	const NfsCall call = nfs3::mount(7, "/nothing");
	send_record(call.call.stream, 1000);
	EXPECT_EQ(call.read(receive_record()).status, 2U);
}

TEST_F(MountDaemonTest, ServesNoOtherProgram)
{
	const NfsCall call = nfs3::null(7);
	send_record(call.call.stream, 1000);
	EXPECT_EQ(call.read(receive_record()).rpc_status, RPC_PROG_UNAVAIL);
}

TEST_F(MountDaemonTest, ClosesAConnectionThatSpeaksSomethingElse)
{
	send_record(Bytes(8, 0xff), 8);
	EXPECT_TRUE(receive(1).empty());
}

TEST_F(MountDaemonTest, ClosesAConnectionWhoseRecordsAreTooLong)
{
	send_bytes({0xff, 0xff, 0xff, 0xff});
	EXPECT_TRUE(receive(1).empty());
}

TEST_F(MountDaemonTest, APortThatIsTakenIsNamed)
{
	try {
		const MountDaemon second("127.0.0.1", daemon.port());
		FAIL() << "listens twice";
	} catch (const std::system_error &error) {
		EXPECT_NE(std::string(error.what()).find(std::to_string(daemon.port())), std::string::npos);
	}
}

} // namespace
} // namespace peer
