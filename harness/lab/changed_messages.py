# SPDX-License-Identifier: GPL-2.0-only
"""Messages that are changed at random, to a server or to a client: from several of "rpcordma-peer fuzz" at a time.

Each of these waits more than it works.
"""

import json
from dataclasses import dataclass
from typing import Any

from lab.conformance import PEER_MOUNT_PORT, PEER_PORT
from lab.errors import LabError
from lab.guest import Guest, Process
from lab.nfs import script
from lab.peer import Peer

PEERS = 4

# What one of them prints as JSON.
Told = dict[str, Any]


@dataclass(frozen=True)
class Changed:
    """So many messages, the peers' together."""

    count: int
    # Of the first; each further one has the next.
    seed: int
    protocol: str = "2"
    # How long, in seconds, one waits for what has to come.
    patience: int = 180
    # What all of it may take.
    timeout: float = 900

    def words(self, number: int) -> list[str]:
        """What one of the peers is told."""
        return ["--protocol", self.protocol, "--count", str(self.count // PEERS), "--seed", str(self.seed + number),
                "--patience", str(self.patience)]

    def __str__(self) -> str:
        return f"{self.count} changed messages of the seeds {self.seed} to {self.seed + PEERS - 1}"


def send_to_server(peer: Peer, server: str, path: str, changed: Changed) -> list[Told]:
    """Requesters send them to ADDRESS:PORT, which exports that."""
    return told_by([peer.spawn("--json", "fuzz", server, "--path", path, *changed.words(number))
                    for number in range(PEERS)], changed.timeout)


def send_to_client(peer: Peer, address: str, client: Guest, changed: Changed) -> list[Told]:
    """Servers at that address send them to a client that mounts what they export again and again."""
    ports = [(str(PEER_PORT + number), str(PEER_MOUNT_PORT + number)) for number in range(PEERS)]
    servers = [peer.spawn("--json", "fuzz", "--listen", "--host", address, "--port", port, "--mount-port", mount_port,
                          *changed.words(number)) for number, (port, mount_port) in enumerate(ports)]
    for server in servers:
        server.expect("listening; on the client", timeout=changed.patience)
    mounts = [client.spawn(f"while :; do {script('fuzzed-client.py', address, *both)}; done") for both in ports]
    try:
        return told_by(servers, changed.timeout)
    finally:
        for mount in mounts:
            mount.kill()
        client.script("fuzzed-client.py", "stop")


def told_by(fuzzers: list[Process], timeout: float) -> list[Told]:
    """What they have to say when all have sent what they were to send, and found no fault."""
    ended = [fuzzer.wait(timeout) for fuzzer in fuzzers]
    if failed := [result.stdout for result in ended if result.status != 0]:
        raise LabError("rpcordma-peer fuzz:\n" + "\n".join(failed))
    return [json.loads(result.stdout[result.stdout.index("{"):]) for result in ended]
