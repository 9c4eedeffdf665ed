# SPDX-License-Identifier: GPL-2.0-only
"""Three guests on one wire: an NFS server, its client, and a stranger whose processors are its own."""

from pathlib import Path

from lab.guest import Guest, Hardware
from lab.kernel import Kernel
from lab.nfs import OURS, script
from lab.pair import Pair

# What a thousand connections take, with some to spare.
MEMORY = "4G"


class Crowd(Pair):
    """A pair, and a third machine that reaches the server. What it does there costs the client no processor's time."""

    STRANGER_ADDRESS = "10.9.0.3"

    def __init__(self, server_kernel: Kernel, client_kernel: Kernel, logs: Path, client_transport: str = OURS,
                 server_transport: str = OURS):
        super().__init__(server_kernel, client_kernel, logs, client_transport, server_transport, MEMORY)
        self.stranger = Guest("stranger", client_kernel, logs, Hardware(
            memory=MEMORY, network=self._network("stranger", "server-too", 3)))
        self.server.hardware.network = self._two_ended_network()

    @property
    def guests(self) -> tuple[Guest, ...]:
        """All three."""
        return self.server, self.client, self.stranger

    def _set_up_command(self, guest: Guest) -> str:
        if guest is not self.stranger:
            return super()._set_up_command(guest)
        return script("network", "up", "3")

    def _two_ended_network(self) -> list[str]:
        # A wire has two ends; the server's interface is at a hub with two of them.
        device = self._network("server", "client", 1)
        ends = ["-netdev", self._wire("client-wire", "server", "client"),
                "-netdev", self._wire("stranger-wire", "server-too", "stranger")]
        ports = [option for wire in ("client-wire", "stranger-wire")
                 for option in ("-netdev", f"hubport,id={wire}-port,hubid=0,netdev={wire}")]
        return [*ends, *ports, "-netdev", "hubport,id=link,hubid=0", *device[2:]]
