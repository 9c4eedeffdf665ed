# SPDX-License-Identifier: GPL-2.0-only
"""One guest that is NFS server and client at once, over soft-RoCE or soft-iWARP."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lab import lines
from lab.guest import Guest, Hardware
from lab.kernel import Kernel
from lab.machines import Machines
from lab.nfs import MODULES, OURS, SET_UP_SECONDS, Mount, Server, load_command, make_disks, mount, \
    script

# How many connections a second our server takes of one address, after a burst; 0 takes all.
MAX_CONNECTS = "/proc/sys/sunrpc/svc_rdma/max_connects"


@dataclass(frozen=True)
class Device:
    """The RDMA device of a machine that talks to itself: the commands for what becomes of it."""

    name: str
    set_up: tuple[str, ...]
    add: str
    remove: str


ROCE = Device("rxe", (script("network", "dummy"), script("network", "up", "1")),
              script("network", "add"), script("network", "remove"))


class Solo(Machines):
    """A machine that mounts what it exports. One module carries both ends.

    The test kernel has no file systems for disks: there, only "tmpfs" is exported.
    """

    ADDRESS = "10.9.0.1"

    def __init__(self, kernel: Kernel, logs: Path, transport: str = OURS, device: Device = ROCE,
                 root: Path | None = None):
        self.transport = transport
        self.device = device
        self._directory = Path(tempfile.mkdtemp(prefix="rpcordma-lab-"))
        disks = [] if kernel.is_test else make_disks(self._directory)
        hardware = Hardware(memory="1536M", disks=disks)
        hardware.root = root
        self.guest = Guest("solo", kernel, logs, hardware)

    @property
    def guests(self) -> tuple[Guest]:
        """The machine."""
        return (self.guest,)

    @property
    def module(self) -> str:
        """The name of the module that must carry both ends."""
        return MODULES[self.transport]

    @property
    def set_up_seconds(self) -> int:
        """How long to wait for what takes a second or two: the test kernel is slow."""
        return 3 * SET_UP_SECONDS if self.guest.kernel.is_test else SET_UP_SECONDS

    def start(self) -> None:
        """Boots it up to the point where a mount will work."""
        self.guest.start()
        self.guest.wait_until_ready()
        exports = [] if self.guest.hardware.disks else ["diskless"]
        self.guest.run(" && ".join([*self.device.set_up,
                                    self._load_command(),
                                    script("nfs-server", "start", *exports), script("nfs-client")]),
                       timeout=self.set_up_seconds)

    def stop(self) -> None:
        """Switches it off."""
        lines.keep(self.guest)
        self.guest.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def mount(self, version: str, **how: str) -> Mount:
        """Mounts one of its own exports: see lab.nfs.mount()."""
        return mount(self.guest, Server(self.ADDRESS), version, **how)

    def _load_command(self) -> str:
        load = load_command(self.transport, self.guest.kernel)
        # All clients are at one address: together they connect more often than one may.
        return f"{load} && echo 0 >{MAX_CONNECTS}" if self.transport == OURS else load

    def unload_transport(self) -> None:
        """Stops nfsd, and unloads the module; nothing may be mounted."""
        self.guest.run(f"{script('nfs-server', 'stop')} && {script('transport', 'unload')}",
                       timeout=self.set_up_seconds)

    def load_transport(self) -> None:
        """Loads the module after unload_transport(), and starts nfsd again."""
        self.guest.run(f"{self._load_command()} && {script('nfs-server', 'serve')}",
                       timeout=self.set_up_seconds)
        # With nothing mounted, nobody has anything to reclaim; an error where there is no grace.
        self.guest.run("echo Y >/proc/fs/nfsd/v4_end_grace", check=False)
