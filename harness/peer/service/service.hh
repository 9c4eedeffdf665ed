// SPDX-License-Identifier: GPL-2.0-only
//
// The responder's programs: NULL, MOUNT version 3, NFS version 3 and NFS version 4.1 over the tree in memory. Payload
// stream in, Payload stream out; how they travel is decided elsewhere.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "codec/rpc.hh"
#include "service/tree.hh"

namespace peer {

/// What a served Call was, for scripts to choose their Calls by and for people to read.
struct Served {
	CallHeader call;
	/// "NULL", "READ", "WRITE", "LOOKUP"...: the procedure of NFSv3 or MOUNT; of an NFSv4 COMPOUND the operation that
	/// says most about it (READ, WRITE, OPEN, READDIR, READLINK, GETATTR, CREATE_SESSION...).
	std::string operation;
	/// The path of the file that it is about; empty where there is none.
	std::string path;
	/// The whole Reply.
	Payload reply;
};

/// Serves the programs from a tree. One thread. What a client sends again because it has lost a connection is not
/// carried out again.
class Service {
    public:
	explicit Service(Tree &tree);
	~Service();

	/// How much clients read and write at once, a multiple of 4096; 65536 before this is called. Clients ask when they
	/// mount.
	void transfer_size(std::uint32_t bytes);
	/// Whether files that are opened for reading are delegated; they are not before this is called.
	void delegations(bool on);

	/// Serves one Call, whose Payload stream is whole. A Call that cannot be understood gets the Reply that RFC 5531
	/// has for it (PROG_UNAVAIL, GARBAGE_ARGS...). Throws Malformed where there is not even a Call.
	/// @connection tells connections apart: an NFSv4.1 client's backchannel is the connection on which it created its
	/// session or that it bound to it.
	[[nodiscard]] Served serve(ByteView call, std::uint64_t connection);

	/// The connections with a backchannel, and with what a callback needs (sessionid, callback program).
	struct Backchannel {
		std::uint64_t connection = 0;
		std::uint32_t program = 0;
		Bytes session;
	};
	[[nodiscard]] const std::vector<Backchannel> &backchannels() const;
	/// The connection has gone.
	void forget(std::uint64_t connection);

	/// A file that a client has a read delegation of.
	struct Delegation {
		FileId file = 0;
		Bytes handle;
		Bytes stateid;
		std::uint64_t client = 0;
	};
	/// Those that have not been returned.
	[[nodiscard]] const std::vector<Delegation> &delegated() const;

    private:
	struct State;
	std::unique_ptr<State> state_;
};

/// Callbacks to an NFSv4.1 client, whole Payload streams: CB_NULL, and a CB_COMPOUND of CB_SEQUENCE alone, with CB_RECALL of
/// a file's delegation, or with as many CB_RECALL_ANY of nothing, whose Reply has 76 bytes and 8 for each. A slot's sequence
/// number is 1 in its first callback and grows with each further one.
[[nodiscard]] Payload callback_null(std::uint32_t xid, const Service::Backchannel &to);
[[nodiscard]] Payload callback_sequence(std::uint32_t xid, const Service::Backchannel &to, std::uint32_t slot,
					std::uint32_t sequence);
[[nodiscard]] Payload callback_recall(std::uint32_t xid, const Service::Backchannel &to, std::uint32_t slot,
				      std::uint32_t sequence, const Service::Delegation &delegation);
[[nodiscard]] Payload callback_recall_any(std::uint32_t xid, const Service::Backchannel &to, std::uint32_t slot,
					  std::uint32_t sequence, std::uint32_t operations);
/// What came of a callback: the nfsstat4, 0 also of CB_NULL. Throws Malformed where the Reply is none, or is not one that
/// RPC has accepted and carried out.
[[nodiscard]] std::uint32_t read_callback_reply(ByteView reply);
/// The other way round: what a client whose session has one slot says to a server that asks whether it is there, by
/// CB_NULL or by CB_SEQUENCE alone. The results, without the Reply's header; nothing where the Call asks for more. Throws
/// Malformed where it cannot be read.
[[nodiscard]] std::optional<Bytes> results_of_probe(ByteView call);
/// The same to CB_SEQUENCE with one CB_RECALL. Throws Malformed where the Payload stream is no such Call.
[[nodiscard]] Bytes results_of_recall(ByteView call);

/// Serves MOUNT version 3 (and nothing else) over TCP in a thread of its own, for clients that mount NFSv3 with
/// "mountproto=tcp,mountport=N". The root of the tree is all that can be mounted through it.
class MountDaemon {
    public:
	/// Listens; at any address where @host is empty. Throws std::system_error.
	MountDaemon(const std::string &host, std::uint16_t port);
	~MountDaemon();

	/// The port, also where 0 let the kernel choose.
	[[nodiscard]] std::uint16_t port() const noexcept;

    private:
	struct State;
	std::unique_ptr<State> state_;
};

} // namespace peer
