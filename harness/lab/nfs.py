# SPDX-License-Identifier: GPL-2.0-only
"""NFS over RDMA in the guests: the modules that carry it, what a server needs, mounts."""

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.guest import Guest
from lab.kernel import Kernel
from lab.module import module_file
from lab.mountstats import MountStats
from lab.paths import GUEST_SCRIPTS

STOCK = "stock"
OURS = "rpcordma"
# Whichever the kernel and modprobe find when they need one.
INSTALLED = "installed"
# The kernel module of each transport.
MODULES = {STOCK: "rpcrdma", OURS: "rpcordma"}
# The listener's port for NFS over RDMA, assigned by IANA.
PORT = 20049
SET_UP_SECONDS = 240
DISK_BYTES = 1 << 30


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
        self.client.run(f"umount {self.path} && {self.command}", timeout=300)


@dataclass(frozen=True)
class Server:
    """Where a client finds a server."""

    address: str
    protocol: str = "rdma"


def mount(client: Guest, server: Server, version: str, export: str = "tmpfs", path: str = "/mnt",
          options: str = "", security: str = "sys") -> Mount:
    """Mounts an export over RDMA.

    Left to choose, the client would take the strongest security that both machines have.
    """
    remote = f"/srv/nfs/{export}" if version.startswith("3") else f"/{export}"
    address = f"[{server.address}]" if ":" in server.address else server.address
    given = [f"vers={version}", f"proto={server.protocol}", f"port={PORT}", f"sec={security}"]
    if options:
        given.append(options)
    command = f"mount -v -t nfs -o {','.join(given)} {address}:{remote} {path}"
    client.run(f"mkdir -p {path} && {command}", timeout=120)
    return Mount(client, path, version, command)


def make_disks(directory: Path) -> list[Path]:
    """The disks that a server's guest expects: ext4, then XFS."""
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
    disks = []
    for kind, force in (("ext4", "-F"), ("xfs", "-f")):
        disk = directory / kind
        with disk.open("wb") as image:
            image.truncate(DISK_BYTES)
        subprocess.run([f"mkfs.{kind}", "-q", force, str(disk)], check=True, env=environment)
        disks.append(disk)
    return disks


def script(*words: str) -> str:
    """The command that runs one of the scripts in harness/guest."""
    return shlex.join([str(GUEST_SCRIPTS / words[0]), *words[1:]])


def load_command(transport: str, kernel: Kernel) -> str:
    """The command that loads a transport."""
    if transport == INSTALLED:
        return "true"
    return script("transport", "load", STOCK if transport == STOCK else str(module_file(kernel)))


def modules_loaded(guest: Guest) -> dict[str, int]:
    """Which of the transports' modules a guest has loaded, and how many use each."""
    lines = (line.split() for line in guest.read("/proc/modules").splitlines())
    return {words[0]: int(words[2]) for words in lines if words[0] in MODULES.values()}
