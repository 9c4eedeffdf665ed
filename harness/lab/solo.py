# SPDX-License-Identifier: GPL-2.0-only
"""One guest that is NFS server and client at once, over soft-RoCE on a dummy interface."""

import shutil
import tempfile
from pathlib import Path

from lab.guest import Guest, Hardware
from lab.kernel import Kernel
from lab.nfs import MODULES, OURS, SET_UP_SECONDS, Mount, Server, load_command, make_disks, mount, \
    script


class Solo:
    """A machine that mounts what it exports. One module carries both ends."""

    ADDRESS = "10.9.0.1"

    def __init__(self, kernel: Kernel, logs: Path, transport: str = OURS):
        self.transport = transport
        self._directory = Path(tempfile.mkdtemp(prefix="rpcordma-lab-"))
        self.guest = Guest("solo", kernel, logs,
                           Hardware(memory="1536M", disks=make_disks(self._directory)))

    @property
    def module(self) -> str:
        """The name of the module that must carry both ends."""
        return MODULES[self.transport]

    def start(self) -> None:
        """Boots it up to the point where a mount will work."""
        self.guest.start()
        self.guest.wait_until_ready()
        self.guest.run(" && ".join([script("network", "dummy"), script("network", "up", "1"),
                                    load_command(self.transport, self.guest.kernel),
                                    script("nfs-server", "start"), script("nfs-client")]),
                       timeout=SET_UP_SECONDS)

    def stop(self) -> None:
        """Switches it off."""
        self.guest.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> "Solo":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def mount(self, version: str, **how: str) -> Mount:
        """Mounts one of its own exports: see lab.nfs.mount()."""
        return mount(self.guest, Server(self.ADDRESS), version, **how)

    def unload_transport(self) -> None:
        """Stops nfsd, and unloads the module; nothing may be mounted."""
        self.guest.run(f"{script('nfs-server', 'stop')} && {script('transport', 'unload')}")
