// SPDX-License-Identifier: GPL-2.0-only
//
// A kernel's NFS server has no MOUNT program on its RDMA port: its mount daemon is a process of its own, reached over TCP.

#include <array>
#include <cstdarg>
#include <memory>

#include <rpc/rpc.h>

#include "suite/export.hh"

namespace peer {

namespace {

constexpr rpcprog_t MOUNT = 100005;
constexpr rpcvers_t VERSION_3 = 3;
constexpr rpcproc_t MNT = 1;
constexpr u_int LONGEST_HANDLE = 64;
constexpr u_int LONGEST_PATH = 1024;

struct MountResult {
	u_int status = 0;
	std::array<char, LONGEST_HANDLE> handle{};
	u_int length = 0;
};

bool_t xdr_path(XDR *xdr, ...)
{
	va_list arguments;
	va_start(arguments, xdr);
	char **const path = va_arg(arguments, char **);
	va_end(arguments);
	return xdr_string(xdr, path, LONGEST_PATH);
}

// The flavours that follow the handle do not matter: nothing but AUTH_SYS is used.
bool_t xdr_result(XDR *xdr, ...)
{
	va_list arguments;
	va_start(arguments, xdr);
	auto *const result = va_arg(arguments, MountResult *);
	va_end(arguments);
	if (!xdr_u_int(xdr, &result->status) || result->status != 0)
		return result->status != 0;
	char *handle = result->handle.data();
	return xdr_bytes(xdr, &handle, &result->length, LONGEST_HANDLE);
}

} // namespace

FileHandle mount_over_tcp(const std::string &host, const std::string &path)
{
	struct Destroy {
		void operator()(CLIENT *client) const
		{
			if (client->cl_auth)
				auth_destroy(client->cl_auth);
			clnt_destroy(client);
		}
	};
	const std::unique_ptr<CLIENT, Destroy> client(clnt_create(host.c_str(), MOUNT, VERSION_3, "tcp"));
	if (!client)
		throw NotConnected(NotConnected::Why::other,
				   clnt_spcreateerror(("no mount daemon on " + host).c_str()));
	auth_destroy(client->cl_auth);
	client->cl_auth = authunix_create_default();

	char *name = const_cast<char *>(path.c_str());
	MountResult result;
	const timeval patience = {.tv_sec = 30, .tv_usec = 0};
	const clnt_stat status = clnt_call(client.get(), MNT, xdr_path, reinterpret_cast<caddr_t>(&name), xdr_result,
					   reinterpret_cast<caddr_t>(&result), patience);
	if (status == RPC_TIMEDOUT || status == RPC_CANTSEND || status == RPC_CANTRECV)
		throw NotConnected(NotConnected::Why::other,
				   clnt_sperror(client.get(), ("the mount daemon on " + host).c_str()));
	if (status != ::RPC_SUCCESS)
		throw Violation(clnt_sperror(client.get(), ("MOUNT of " + host + ":" + path).c_str()));
	if (result.status != 0)
		throw NotExported("the mount daemon of " + host + " refuses " + path + " with status " +
				  std::to_string(result.status) + ": is it exported to this machine?");
	return {result.handle.begin(), result.handle.begin() + result.length};
}

} // namespace peer
