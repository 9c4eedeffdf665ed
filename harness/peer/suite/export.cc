// SPDX-License-Identifier: GPL-2.0-only

#include "suite/export.hh"

#include <algorithm>

#include <unistd.h>

#include "verbs/interruption.hh"

namespace peer {

namespace {

constexpr std::size_t PIECE = 32 * 1024;
constexpr std::uint32_t NFS3ERR_PERM = 1;
constexpr std::uint32_t NFS3ERR_ACCES = 13;
constexpr std::uint32_t NFS3ERR_EXIST = 17;
constexpr std::uint32_t NFS3ERR_ROFS = 30;

std::string hint_for(std::uint32_t status)
{
	switch (status) {
	case NFS3ERR_PERM:
	case NFS3ERR_ACCES:
		return ": export with no_root_squash and insecure";
	case NFS3ERR_ROFS:
		return ": export with rw";
	}
	return "";
}

NfsResult succeed(Client &client, const NfsCall &call, std::uint32_t allowed = 0)
{
	NfsResult result = client.call(call).result;
	if (!result.accepted || result.rpc_status != RPC_SUCCESS)
		throw Violation(call.name + " was refused with RPC status " + std::to_string(result.rpc_status));
	if (result.status != 0 && result.status != allowed)
		throw Violation(call.name + " failed with NFS status " + std::to_string(result.status) +
				hint_for(result.status));
	return result;
}

FileHandle look_up(Client &client, const FileHandle &directory, const std::string &name)
{
	return succeed(client, nfs3::lookup(client.next_xid(), directory, name)).handle;
}

FileHandle create(Client &client, const FileHandle &directory, const std::string &name)
{
	succeed(client, nfs3::create(client.next_xid(), directory, name), NFS3ERR_EXIST);
	return look_up(client, directory, name);
}

void write_all(Client &client, const FileHandle &file, ByteView content)
{
	for (std::size_t at = 0; at < content.size(); at += PIECE)
		succeed(client, nfs3::write(client.next_xid(), file, at,
					    content.subspan(at, std::min(PIECE, content.size() - at))));
}

std::string entry_name(unsigned number)
{
	return "entry-with-a-name-that-takes-room-" + std::to_string(1000 + number);
}

std::string made_name(unsigned number)
{
	return "made-" + std::to_string(number);
}

} // namespace

std::uint8_t pattern_at(std::uint64_t offset, unsigned seed) noexcept
{
	return static_cast<std::uint8_t>((offset + 1) * 0x9e3779b97f4a7c15U >> 32) ^
	       static_cast<std::uint8_t>(seed * 31);
}

Bytes pattern(std::uint64_t offset, std::size_t length, unsigned seed)
{
	Bytes bytes(length);
	for (std::size_t i = 0; i < length; i++)
		bytes[i] = pattern_at(offset + i, seed);
	return bytes;
}

FileHandle find_root(const Target &target, Patience patience)
{
	if (!target.root.empty())
		return target.root;
	const Client client(target, patience);
	return mount_over_tcp(target.host, target.path);
}

Export::Export(const Target &target, Patience patience, FileHandle root)
	: name("rpcordma-peer-" + std::to_string(::getpid()))
	, target_(target)
	, patience_(patience)
	, root_(std::move(root))
{
}

// The object is there once the other constructor is done: the destructor runs whatever is thrown here.
Export::Export(const Target &target, Patience patience)
	: Export(target, patience, find_root(target, patience))
{
	Client client(target, patience);
	make_directory(client);
	encounter_ = client.encounter();
	fill(client);
}

// What a server refuses here is a matter of its exports.
void Export::make_directory(Client &client)
{
	const NfsResult made = client.call(nfs3::mkdir(client.next_xid(), root_, name)).result;
	if (made.accepted && made.rpc_status == RPC_SUCCESS && made.status != 0 && made.status != NFS3ERR_EXIST)
		throw NotExported("no directory can be made below " + target_.path + " of " + target_.host +
				  ": NFS status " + std::to_string(made.status) + hint_for(made.status));
	directory = look_up(client, root_, name);
}

void Export::fill(Client &client)
{
	data = create(client, directory, "data");
	write_all(client, data, pattern(0, DATA_SIZE));
	scratch = create(client, directory, "scratch");
	write_all(client, scratch, Bytes(SCRATCH_SIZE));
	succeed(client, nfs3::mkdir(client.next_xid(), directory, "many"), NFS3ERR_EXIST);
	many = look_up(client, directory, "many");
	for (unsigned i = 0; i < ENTRIES; i++)
		succeed(client, nfs3::create(client.next_xid(), many, entry_name(i)), NFS3ERR_EXIST);
	const Bytes text = pattern(0, LINK_LENGTH);
	for (const std::uint8_t byte : text)
		link_target += static_cast<char>('a' + byte % 26);
	succeed(client, nfs3::symlink(client.next_xid(), directory, "link", link_target), NFS3ERR_EXIST);
	link = look_up(client, directory, "link");
}

// A signal ends the program anyway: the first one lets it be done with this.
Export::~Export()
{
	try {
		remove_all();
	} catch (const Interrupted &) {
		remove_all();
	}
}

// Whatever of it has been made. What a server leaves when it is not there any more is its own.
void Export::remove_all()
try {
	Client client(target_, patience_);
	end_opens(client);
	if (!many.empty())
		for (unsigned i = 0; i < ENTRIES; i++)
			client.call(nfs3::remove(client.next_xid(), many, entry_name(i)));
	if (!directory.empty()) {
		client.call(nfs3::rmdir(client.next_xid(), directory, "many"));
		for (const char *const file : {"data", "scratch", "link", "made"})
			client.call(nfs3::remove(client.next_xid(), directory, file));
		for (unsigned i = 1; i <= made_; i++)
			client.call(nfs3::remove(client.next_xid(), directory, made_name(i)));
	}
	client.call(nfs3::rmdir(client.next_xid(), root_, name));
} catch (const std::runtime_error &) {
	return;
}

// The opens and delegations of a case may have outlived its connection. Where a server does not let them go, there is more to
// be removed all the same.
void Export::end_opens(Client &client)
{
	constexpr std::uint64_t ANOTHER_LIFE = 1;
	for (const std::string &owner : owners_) {
		const Reply reply = client.call(nfs4::exchange_id(client.next_xid(), owner, ANOTHER_LIFE));
		if (!reply.result.accepted || reply.result.rpc_status != RPC_SUCCESS || reply.result.status != 0)
			continue;
		nfs4::Session session;
		nfs4::take_exchange_id(session, reply.stream);
		client.call(nfs4::create_session(client.next_xid(), session, false));
	}
}

std::optional<std::string> Export::health()
{
	constexpr std::size_t LENGTH = 8192;
	const Bytes written = pattern(0, LENGTH, ++checks_);
	try {
		// A server must not close it because others come.
		Client before(connect_at_last(target_, patience_.deadline()), patience_);
		Client client(connect_at_last(target_, patience_.deadline()), patience_);
		succeed(before, nfs3::null(before.next_xid()));
		succeed(client, nfs3::null(client.next_xid()));
		succeed(client, nfs3::getattr(client.next_xid(), data));
		succeed(client, nfs3::write(client.next_xid(), scratch, SCRATCH_SIZE - LENGTH, written));
		if (succeed(client, nfs3::read(client.next_xid(), scratch, SCRATCH_SIZE - LENGTH, LENGTH)).data !=
		    written)
			return "8 KiB read back are not those that were written";
		if (succeed(client, nfs3::read(client.next_xid(), data, 0, LENGTH)).data != pattern(0, LENGTH))
			return "the content of a file that nobody has written to has changed";
	} catch (const std::runtime_error &error) {
		return error.what();
	}
	return std::nullopt;
}

void Export::opened_by(const std::string &owner)
{
	owners_.insert(owner);
}

std::string Export::make_file()
{
	Client client(target_, patience_);
	const std::string made = made_name(++made_);
	create(client, directory, made);
	return made;
}

Bytes Export::scratch_content(std::size_t length)
{
	Client client(target_, patience_);
	return succeed(client, nfs3::read(client.next_xid(), scratch, 0, static_cast<std::uint32_t>(length))).data;
}

void Export::clear_scratch()
{
	Client client(target_, patience_);
	write_all(client, scratch, Bytes(SCRATCH_SIZE));
}

} // namespace peer
