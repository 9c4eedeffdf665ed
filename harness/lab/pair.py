# SPDX-License-Identifier: GPL-2.0-only
"""Two guests joined by soft-RoCE: an NFS server and an NFS client."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from lab.errors import LabError
from lab.guest import Guest, Hardware
from lab.kernel import Kernel
from lab.machines import Machines
from lab.nfs import (MODULES, OURS, SET_UP_SECONDS, STOCK, Mount, Server, load_command, make_disks,
                     mount, script)

STOP_SECONDS = 120


class Pair(Machines):
    """A server and a client. Each has a transport: the stock module or ours.

    A server with the test kernel, which has no file systems for disks, exports "tmpfs" only.
    """

    SERVER_ADDRESS = "10.9.0.1"
    SERVER_ADDRESS_6 = "fd09::1"
    CLIENT_ADDRESS = "10.9.0.2"

    def __init__(self, server_kernel: Kernel, client_kernel: Kernel, logs: Path,
                 client_transport: str = OURS, server_transport: str = STOCK,
                 memory: str = "1536M", terminal: str = ""):
        """The guest that is named `terminal` has its console on this program's."""
        self.client_transport = client_transport
        self.server_transport = server_transport
        self._directory = Path(tempfile.mkdtemp(prefix="rpcordma-lab-"))
        self.server = Guest("server", server_kernel, logs, Hardware(
            memory=memory, disks=[] if server_kernel.is_test else make_disks(self._directory),
            network=self._network("server", "client", 1),
            console_on_terminal=terminal == "server"))
        self.client = Guest("client", client_kernel, logs, Hardware(
            memory=memory, network=self._network("client", "server", 2), console_on_terminal=terminal == "client"))
        for guest in (self.server, self.client):
            guest.slowness = guest.kernel.slowness
        # What each machine has loaded now: nothing, or its transport.
        self._loaded: dict[Guest, str | None] = {self.server: None, self.client: None}
        # What a machine that is booted runs before it serves or mounts anything, where somebody wants that.
        self.preparation: Callable[[Guest], str] = lambda _guest: "true"

    @property
    def guests(self) -> tuple[Guest, ...]:
        """Both machines."""
        return self.server, self.client

    @property
    def ours(self) -> tuple[Guest, ...]:
        """Those of them that have our module."""
        modules = zip(self.guests, (self.server_module, self.client_module))
        return tuple(guest for guest, module in modules if module == MODULES[OURS])

    @property
    def client_module(self) -> str:
        """The name of the module that must carry the client's mounts."""
        return MODULES[self.client_transport]

    @property
    def server_module(self) -> str:
        """The name of the module that nfsd must listen through."""
        return MODULES[self.server_transport]

    # Life and death

    def start(self) -> None:
        """Boots the machines, side by side, up to the point where a mount will work."""
        self._boot(*self.guests)

    def restart_server(self) -> None:
        """Boots the server again, with the disks it had."""
        self._boot(self.server)

    def restart_client(self) -> None:
        """Boots the client again, with nothing mounted."""
        self._boot(self.client)

    def stop(self) -> None:
        """Switches both machines off and throws their disks away."""
        for guest in self.guests:
            guest.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    # The transports

    def use(self, client_transport: str, server_transport: str) -> None:
        """Changes to other transports where needed; nothing may be mounted."""
        if self._loaded[self.client] != client_transport:
            if self._loaded[self.client]:
                self.unload_client_transport()
            self.client_transport = client_transport
            self.load_client_transport()
        if self._loaded[self.server] != server_transport:
            if self._loaded[self.server]:
                self.unload_server_transport()
            self.server_transport = server_transport
            self.load_server_transport()
            # With nothing mounted, nobody has anything to reclaim. It is an error where there is
            # no grace period, because no client is remembered.
            self.server.run("echo Y >/proc/fs/nfsd/v4_end_grace", check=False)

    def load_client_transport(self) -> None:
        """Loads the client's transport after unload_client_transport()."""
        self.client.run(load_command(self.client_transport, self.client.kernel))
        self._loaded[self.client] = self.client_transport

    def unload_client_transport(self) -> None:
        """Unloads the client's transport; nothing may be mounted."""
        self.client.script("transport", "unload")
        self._loaded[self.client] = None

    def load_server_transport(self) -> None:
        """Loads the server's transport, and starts nfsd again, with a grace period."""
        self.server.run(f"{load_command(self.server_transport, self.server.kernel)} && "
                        f"{script('nfs-server', 'serve')}")
        self._loaded[self.server] = self.server_transport

    def unload_server_transport(self) -> None:
        """Stops nfsd, which takes all its connections and listeners, and unloads the transport."""
        self.server.run(f"{script('nfs-server', 'stop')} && {script('transport', 'unload')}",
                        timeout=STOP_SECONDS)
        self._loaded[self.server] = None

    # What the tests do with them

    def mount(self, version: str, server: str = SERVER_ADDRESS, protocol: str = "rdma",
              **how: str) -> Mount:
        """Mounts an export of the server in the client: see lab.nfs.mount()."""
        return mount(self.client, Server(server, protocol), version, **how)

    # How they are made

    def _boot(self, *guests: Guest) -> None:
        for guest in guests:
            guest.start()
        for guest in guests:
            guest.wait_until_ready()
        set_up = [guest.spawn(self._set_up_command(guest)) for guest in guests]
        for command in set_up:
            result = command.wait(SET_UP_SECONDS)
            if result.status != 0:
                raise LabError(f"setting up the {command.guest.name} failed:\n{result.stdout}")

    def _set_up_command(self, guest: Guest) -> str:
        if guest is self.server:
            exports = [] if guest.hardware.disks else ["diskless"]
            number, transport, role = "1", self.server_transport, ("nfs-server", "start", *exports)
        else:
            number, transport, role = "2", self.client_transport, ("nfs-client",)
        self._loaded[guest] = transport
        return " && ".join([script("network", "up", number), load_command(transport, guest.kernel),
                            self.preparation(guest), script(*role)])

    def _network(self, mine: str, its: str, number: int) -> list[str]:
        # With mergeable buffers Linux 7.3's virtio_net has a page pool. Freeing a packet of it then enables softirqs,
        # also where soft-RoCE does so with interrupts disabled and the lock of a queue pair held (rxe_receiver(), of a
        # queue pair in the error state). The next packet for the queue pair arrives in such a softirq, and waits for
        # that lock for ever.
        return ["-netdev", self._wire("link", mine, its),
                "-device", f"virtio-net-pci,netdev=link,host_mtu=9000,mrg_rxbuf=off,mac=52:54:00:09:00:0{number}"]

    def _wire(self, name: str, mine: str, its: str) -> str:
        return (f"dgram,id={name},local.type=unix,local.path={self._directory}/{mine}.link,"
                f"remote.type=unix,remote.path={self._directory}/{its}.link")
