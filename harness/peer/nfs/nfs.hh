// SPDX-License-Identifier: GPL-2.0-only
//
// The requester's side of NFS: Calls as whole Payload streams, and what their Replies say.

#pragma once

#include <optional>
#include <string>

#include "codec/rpc.hh"

namespace peer {

using FileHandle = Bytes;

/// How long the text of a link may be: what Linux has room for.
constexpr std::size_t LONGEST_PATH = 4096;

/// What a Reply said, as far as anybody here wants to know.
struct NfsResult {
	std::uint32_t xid = 0;
	bool accepted = true;
	std::uint32_t rpc_status = RPC_SUCCESS; // accept_stat, or reject_stat where it was not accepted
	std::uint32_t status = 0; // nfsstat3, nfsstat4, mountstat3; 0 where there is none
	FileHandle handle; // LOOKUP, CREATE, MNT, GETFH
	Bytes data; // READ's, or READLINK's target: of all of a COMPOUND's, one after the other
	Bytes delegation; // OPEN's: its stateid
	std::uint32_t count = 0; // READ, WRITE
	bool eof = false;
	std::uint64_t size = 0; // of the file, where attributes came along
	std::vector<std::string> names; // READDIR
};

/// One procedure's Call and how its Reply is read.
struct NfsCall {
	std::string name; // "NFSv3 READ"
	Payload call;
	/// How long the whole Reply can get, with an empty verifier, for the Reply chunk; of that, DDP-eligible: for the
	/// Write chunk.
	std::size_t longest_reply = 0;
	std::size_t longest_item = 0;
	/// What a Reply's whole stream says. Throws Malformed.
	NfsResult (*read)(ByteView reply) = nullptr;
	/// Given a Reply's reduced stream and what its Write chunks hold, one after the other, the whole stream: puts
	/// @data where the items belong, with their padding. Throws Malformed where the stream has no place for it.
	Bytes (*rebuild)(ByteView reduced, ByteView data) = nullptr;
};

/// Version 3 (RFC 1813), and MOUNT version 3.
namespace nfs3 {
[[nodiscard]] NfsCall null(std::uint32_t xid);
[[nodiscard]] NfsCall mount(std::uint32_t xid, const std::string &path);
[[nodiscard]] NfsCall getattr(std::uint32_t xid, const FileHandle &file);
[[nodiscard]] NfsCall lookup(std::uint32_t xid, const FileHandle &directory, const std::string &name);
[[nodiscard]] NfsCall create(std::uint32_t xid, const FileHandle &directory, const std::string &name);
[[nodiscard]] NfsCall remove(std::uint32_t xid, const FileHandle &directory, const std::string &name);
[[nodiscard]] NfsCall mkdir(std::uint32_t xid, const FileHandle &directory, const std::string &name);
[[nodiscard]] NfsCall rmdir(std::uint32_t xid, const FileHandle &directory, const std::string &name);
[[nodiscard]] NfsCall symlink(std::uint32_t xid, const FileHandle &directory, const std::string &name,
			      const std::string &target);
[[nodiscard]] NfsCall readlink(std::uint32_t xid, const FileHandle &link);
[[nodiscard]] NfsCall read(std::uint32_t xid, const FileHandle &file, std::uint64_t offset, std::uint32_t count);
[[nodiscard]] NfsCall write(std::uint32_t xid, const FileHandle &file, std::uint64_t offset, ByteView data);
[[nodiscard]] NfsCall readdir(std::uint32_t xid, const FileHandle &directory, std::uint32_t count);
} // namespace nfs3

/// Version 4.1 (RFC 8881). A session has one slot: Calls are made one at a time.
namespace nfs4 {
struct Session {
	std::uint64_t client = 0;
	Bytes id;
	std::uint32_t sequence = 0; // of the slot: grows with each compound() made
	std::uint32_t create_sequence = 0; // what EXCHANGE_ID said
	std::uint32_t callback_program = CALLBACK_PROGRAM;
};

/// An owner that comes with another @life than before has lost its state: with CREATE_SESSION the server lets go of it.
[[nodiscard]] NfsCall exchange_id(std::uint32_t xid, const std::string &owner, std::uint64_t life = 0);
/// Fills in the session from the Reply of EXCHANGE_ID; then from that of CREATE_SESSION.
void take_exchange_id(Session &session, ByteView reply);
[[nodiscard]] NfsCall create_session(std::uint32_t xid, Session &session, bool backchannel);
void take_create_session(Session &session, ByteView reply);
[[nodiscard]] NfsCall reclaim_complete(std::uint32_t xid, Session &session);
[[nodiscard]] NfsCall destroy_session(std::uint32_t xid, Session &session);
/// SEQUENCE, PUTROOTFH, LOOKUP of each part of the path, GETFH, GETATTR.
[[nodiscard]] NfsCall lookup(std::uint32_t xid, Session &session, const std::string &path);
[[nodiscard]] NfsCall getattr(std::uint32_t xid, Session &session, const FileHandle &file);
[[nodiscard]] NfsCall read(std::uint32_t xid, Session &session, const FileHandle &file, std::uint64_t offset,
			   std::uint32_t count);
/// Two results that may be reduced: a READ from a file's beginning and a READLINK in one COMPOUND.
[[nodiscard]] NfsCall read_and_readlink(std::uint32_t xid, Session &session, const FileHandle &file,
					std::uint32_t count, const FileHandle &link);
/// With the special stateid of all zeros. Two WRITEs in one COMPOUND where @second is not empty.
[[nodiscard]] NfsCall write(std::uint32_t xid, Session &session, const FileHandle &file, std::uint64_t offset,
			    ByteView data, ByteView second = {});
[[nodiscard]] NfsCall readdir(std::uint32_t xid, Session &session, const FileHandle &directory, std::uint32_t count);
[[nodiscard]] NfsCall readlink(std::uint32_t xid, Session &session, const FileHandle &link);
/// OPEN of a file in a directory for reading, wanting a read delegation; result.handle is the file's.
[[nodiscard]] NfsCall open(std::uint32_t xid, Session &session, const FileHandle &directory, const std::string &name);
/// Returns a delegation.
[[nodiscard]] NfsCall delegreturn(std::uint32_t xid, Session &session, const FileHandle &file, ByteView delegation);
} // namespace nfs4

} // namespace peer
