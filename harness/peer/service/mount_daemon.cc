// SPDX-License-Identifier: GPL-2.0-only
//
// MOUNT version 3 (RFC 1813, appendix I), as a responder speaks it.

#include "service/programs.hh"
#include "service/tcp_server.hh"

namespace peer {

namespace {

enum Procedure : std::uint32_t { PROC_NULL = 0, MNT = 1, DUMP = 2, UMNT = 3, UMNTALL = 4, EXPORT = 5 };

constexpr std::uint32_t AUTH_SYS_FLAVOUR = 1;

// Without a tree there is only its root.
void serve_mnt(ProgramResult &outcome, XdrWriter &out, Tree *tree)
{
	File root;
	root.id = ROOT;
	root.kind = File::Kind::directory;
	const File *const file = tree ? tree->find(outcome.path) : outcome.path == "/" ? &root : nullptr;
	if (!file || file->kind != File::Kind::directory) {
		out.u32(file ? NFSERR_NOTDIR : NFSERR_NOENT);
		return;
	}
	out.u32(NFS_OK);
	out.opaque(Files::handle(*file));
	out.u32(1);
	out.u32(AUTH_SYS_FLAVOUR);
}

} // namespace

ProgramResult serve_mount(const CallHeader &call, XdrReader &arguments, Tree *tree)
{
	ProgramResult outcome;
	XdrWriter out;
	switch (call.procedure) {
	case PROC_NULL:
		outcome.operation = "NULL";
		break;
	case MNT:
		outcome.operation = "MNT";
		outcome.path = arguments.string("dirpath");
		serve_mnt(outcome, out, tree);
		break;
	case DUMP:
		outcome.operation = "DUMP";
		out.boolean(false); // nobody
		break;
	case UMNT:
		outcome.operation = "UMNT";
		outcome.path = arguments.string("dirpath");
		break;
	case UMNTALL:
		outcome.operation = "UMNTALL";
		break;
	case EXPORT:
		outcome.operation = "EXPORT";
		out.boolean(true);
		out.string("/");
		out.boolean(false); // to everybody
		out.boolean(false); // no further directory
		break;
	default:
		outcome.header.status = RPC_PROC_UNAVAIL;
	}
	outcome.results = {out.take(), {}};
	return outcome;
}

struct MountDaemon::State {
	TcpServer server;
};

MountDaemon::MountDaemon(const std::string &host, std::uint16_t port)
	: state_(new State{TcpServer(host, port, [](ByteView call, std::uint64_t) { return serve_mount_alone(call); })})
{
}

MountDaemon::~MountDaemon() = default;

std::uint16_t MountDaemon::port() const noexcept
{
	return state_->server.port();
}

} // namespace peer
