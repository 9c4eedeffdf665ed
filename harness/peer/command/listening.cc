// SPDX-License-Identifier: GPL-2.0-only

#include "command/listening.hh"

namespace peer {

void add_listening(CLI::App &command, ListenSettings &listening)
{
	command.add_option("--host", listening.host, "the address to listen at (default: every address)");
	command.add_option("--port", listening.port, "the port of RPC over RDMA")->capture_default_str();
	command.add_option("--mount-port", listening.mount_port, "the TCP port of MOUNT version 3")
		->capture_default_str();
}

std::string mount_command(const ListenSettings &listening, const std::string &version)
{
	const std::string here = listening.host.empty() ? "THIS-HOST" : listening.host;
	const std::string port = std::to_string(listening.port);
	return version == "3" ?
		       "mount -t nfs -o vers=3,proto=rdma,port=" + port +
			       ",mountproto=tcp,mountport=" + std::to_string(listening.mount_port) +
			       ",nolock,timeo=50,retrans=2 " + here + ":/ /mnt" :
		       "mount -t nfs -o vers=4.1,proto=rdma,port=" + port + ",timeo=50,retrans=2 " + here + ":/ /mnt";
}

} // namespace peer
