// SPDX-License-Identifier: GPL-2.0-only
//
// ONC RPC version 2 (RFC 5531), and what its messages are to the transport: Payload streams with DDP-eligible items in
// them (RFC 8166, section 3.4.2; RFC 8267 says which data items of NFS are).

#pragma once

#include <optional>
#include <string>

#include "codec/xdr.hh"

namespace peer {

/// A DDP-eligible item: where its data are in the whole, unreduced Payload stream. Its length word stands before
/// @offset, its roundup padding behind @offset + @length; neither is part of the item.
struct Item {
	std::size_t offset = 0;
	std::size_t length = 0;
};

/// An RPC message, whole, as it would be without RDMA.
struct Payload {
	Bytes stream;
	std::vector<Item> items;
};

/// Puts an item's data, and their padding, back into a stream that was reduced by it. Throws Malformed where the data are
/// not as long as the item.
[[nodiscard]] Bytes restore(ByteView reduced, const Item &item, ByteView data);

enum Program : std::uint32_t { NFS_PROGRAM = 100003, MOUNT_PROGRAM = 100005, CALLBACK_PROGRAM = 0x40000000 };

enum AcceptStatus : std::uint32_t {
	RPC_SUCCESS = 0,
	RPC_PROG_UNAVAIL = 1,
	RPC_PROG_MISMATCH = 2,
	RPC_PROC_UNAVAIL = 3,
	RPC_GARBAGE_ARGS = 4,
	RPC_SYSTEM_ERR = 5,
};

enum RejectStatus : std::uint32_t { RPC_MISMATCH = 0, RPC_AUTH_ERROR = 1 };
enum AuthStatus : std::uint32_t { AUTH_REJECTED_CREDENTIALS = 2 };

constexpr std::uint32_t RPC_VERSION = 2;

/// The header of a Call. Its arguments follow.
struct CallHeader {
	std::uint32_t xid = 0;
	std::uint32_t program = 0;
	std::uint32_t version = 0;
	std::uint32_t procedure = 0;
	bool auth_sys = true; // as root; otherwise AUTH_NONE
	/// Of a Call that was read: what follows is only there where this is RPC_VERSION.
	std::uint32_t rpc_version = RPC_VERSION;
	/// Of a Call that was read: whether its credentials are AUTH_SYS or AUTH_NONE.
	bool known_flavour = true;
};

/// The header of a Reply. Its results follow where it was accepted and succeeded.
struct ReplyHeader {
	std::uint32_t xid = 0;
	bool accepted = true; // MSG_ACCEPTED
	std::uint32_t status = RPC_SUCCESS; // the accept_stat, or the reject_stat
	/// The versions that there are, of PROG_MISMATCH and of RPC_MISMATCH.
	std::uint32_t lowest = 0;
	std::uint32_t highest = 0;
	std::uint32_t auth_status = 0; // of AUTH_ERROR
};

/// How long the header of a Reply is that was accepted, with an empty verifier.
constexpr std::size_t ACCEPTED_REPLY_LENGTH = 24;

void write(XdrWriter &xdr, const CallHeader &call);
void write(XdrWriter &xdr, const ReplyHeader &reply);
/// Throws Malformed where there is no Call, or no Reply.
[[nodiscard]] CallHeader read_call(XdrReader &xdr);
[[nodiscard]] ReplyHeader read_reply(XdrReader &xdr);

/// Whether a Payload stream begins as a Call (msg_type 0) or as a Reply (1); nothing where it is too short or neither.
[[nodiscard]] std::optional<bool> is_call(ByteView stream) noexcept;

} // namespace peer
