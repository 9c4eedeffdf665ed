# SPDX-License-Identifier: GPL-2.0-only
"""Two guests joined by soft-RoCE: an NFS server and an NFS client."""

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lab.guest import Guest, Hardware, LabError
from lab.kernel import Kernel
from lab.module import module_file
from lab.mountstats import MountStats
from lab.paths import CHECKOUT

SET_UP_SECONDS = 240
STOCK = "stock"
OURS = "rpcordma"
DISK_BYTES = 1 << 30
# The listener's port for NFS over RDMA, assigned by IANA.
PORT = 20049


@dataclass(frozen=True)
class Mount:
    """A mounted export."""

    client: Guest
    path: str
    version: str
    command: str

    def options(self) -> dict[str, str]:
        """The options as /proc/mounts shows them; one without a value has an empty one."""
        for line in self.client.read("/proc/mounts").splitlines():
            _, path, kind, options = line.split()[:4]
            if path == self.path and kind.startswith("nfs"):
                pairs = (option.partition("=") for option in options.split(","))
                return {name: value for name, _, value in pairs}
        raise LabError(f"{self.path} is not an NFS mount")

    def stats(self) -> MountStats:
        """What the client counted for this mount."""
        return MountStats.parse(self.client.read("/proc/self/mountstats"), self.path)

    def unmount(self) -> None:
        """Takes it away; it must not be busy."""
        self.client.run(f"umount {self.path}", timeout=300)

    def renew(self) -> None:
        """Mounts it again, after which the client has nothing of it in its caches."""
        self.unmount()
        self.client.run(self.command, timeout=120)


class Pair:
    """A server and a client. Each has a transport: the stock module or ours."""

    SERVER_ADDRESS = "10.9.0.1"
    SERVER_ADDRESS_6 = "fd09::1"
    CLIENT_ADDRESS = "10.9.0.2"

    def __init__(self, server_kernel: Kernel, client_kernel: Kernel, logs: Path,
                 client_transport: str = OURS, server_transport: str = STOCK,
                 kernel_options: str = "mitigations=off", console_on_terminal: bool = False):
        self.client_transport = client_transport
        self.server_transport = server_transport
        self._directory = Path(tempfile.mkdtemp(prefix="rpcordma-lab-"))
        self.server = Guest("server", server_kernel, logs, Hardware(
            memory="1536M", disks=[self._disk("ext4"), self._disk("xfs")],
            network=self._network("server", "client", 1), kernel_options=kernel_options))
        self.client = Guest("client", client_kernel, logs, Hardware(
            memory="1536M", network=self._network("client", "server", 2),
            kernel_options=kernel_options, console_on_terminal=console_on_terminal))

    @property
    def guests(self) -> tuple[Guest, Guest]:
        """Both machines."""
        return self.server, self.client

    # Life and death

    def start(self) -> None:
        """Boots both machines, side by side, up to the point where a mount will work."""
        for guest in self.guests:
            guest.start()
        for guest in self.guests:
            guest.wait_until_ready()
        commands = [self.server.spawn(self._server_set_up()),
                    self.client.spawn(self._client_set_up())]
        for command in commands:
            result = command.wait(SET_UP_SECONDS)
            if result.status != 0:
                raise LabError(f"setting up the {command.guest.name} failed:\n{result.stdout}")

    def restart_server(self) -> None:
        """Boots the server again, with the disks it had."""
        self.server.start()
        self.server.wait_until_ready()
        self.server.run(self._server_set_up(), timeout=SET_UP_SECONDS)

    def stop(self) -> None:
        """Switches both machines off and throws their disks away."""
        for guest in self.guests:
            guest.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> "Pair":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # What the tests do with them

    def mount(self, version: str, export: str = "tmpfs", path: str = "/mnt", options: str = "",
              server: str = SERVER_ADDRESS, protocol: str = "rdma", security: str = "sys") -> Mount:
        """Mounts an export of the server over RDMA.

        Left to choose, the client would take the strongest security that both machines have.
        """
        remote = f"/srv/nfs/{export}" if version.startswith("3") else f"/{export}"
        if ":" in server:
            server = f"[{server}]"
        given = [f"vers={version}", f"proto={protocol}", f"port={PORT}", f"sec={security}"]
        if options:
            given.append(options)
        command = f"mount -v -t nfs -o {','.join(given)} {server}:{remote} {path}"
        self.client.run(f"mkdir -p {path} && {command}", timeout=120)
        return Mount(self.client, path, version, command)

    def load_client_transport(self) -> None:
        """Loads the client's transport after unload_client_transport()."""
        self.client.run(self._load(self.client_transport, self.client.kernel))

    def unload_client_transport(self) -> None:
        """Unloads the client's transport; nothing may be mounted."""
        self.client.script("transport", "unload")

    def transport_module(self) -> str:
        """The name of the module that must carry the client's mounts."""
        return "rpcrdma" if self.client_transport == STOCK else "rpcordma"

    # How they are made

    def _disk(self, kind: str) -> Path:
        disk = self._directory / kind
        with disk.open("wb") as image:
            image.truncate(DISK_BYTES)
        force = "-F" if kind == "ext4" else "-f"
        environment = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
        subprocess.run([f"mkfs.{kind}", "-q", force, str(disk)], check=True, env=environment)
        return disk

    def _network(self, mine: str, its: str, number: int) -> list[str]:
        return ["-netdev", "dgram,id=link,"
                           f"local.type=unix,local.path={self._directory}/{mine}.link,"
                           f"remote.type=unix,remote.path={self._directory}/{its}.link",
                "-device", f"virtio-net-pci,netdev=link,host_mtu=9000,mac=52:54:00:09:00:0{number}"]

    def _server_set_up(self) -> str:
        return " && ".join([self._script("network", "up", "1"),
                            self._load(self.server_transport, self.server.kernel),
                            self._script("nfs-server", "start")])

    def _client_set_up(self) -> str:
        return " && ".join([self._script("network", "up", "2"),
                            self._load(self.client_transport, self.client.kernel),
                            self._script("nfs-client")])

    def _load(self, transport: str, kernel: Kernel) -> str:
        module = STOCK if transport == STOCK else str(module_file(kernel))
        return self._script("transport", "load", module)

    @staticmethod
    def _script(*words: str) -> str:
        return " ".join([str(CHECKOUT / "harness" / "guest" / words[0]), *words[1:]])
