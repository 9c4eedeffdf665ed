# SPDX-License-Identifier: GPL-2.0-only
"""The user-space verbs peer, harness/peer: building it, and running it in a guest."""

import json
import shlex
import subprocess
from pathlib import Path

from lab.errors import LabError
from lab.guest import Guest, Process, Result
from lab.paths import CHECKOUT
from lab.system import NATIVE

MODULES = ("ib_uverbs", "rdma_ucm")


def directory_of(architecture: str) -> Path:
    """Where the program is for machines of that kind, and its sanitised unit tests below it."""
    build = CHECKOUT / "build"
    return build / "peer" if architecture == NATIVE else build / "foreign" / architecture / "peer"


def build_peer(target: str = "program", architecture: str = NATIVE) -> None:
    """Builds the program, or its tests; says nothing more where that works."""
    print(f"lab: building the peer ({target})", flush=True)
    abroad = [CHECKOUT / "scripts" / "root", "12-foreign", "run"] if architecture != NATIVE else []
    compiler = [f"OUT={directory_of(architecture)}", "CXX=aarch64-linux-gnu-g++-12"] if abroad else []
    built = subprocess.run(["flock", "harness/peer", *abroad,
                            "make", "--no-print-directory", "-j2", "-C", "harness/peer", *compiler, target],
                           cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        raise LabError(f"the peer does not build:\n{built.stdout}{built.stderr}")


class Peer:
    """The peer in a guest that has an RDMA device."""

    def __init__(self, guest: Guest):
        self.guest = guest
        directory = directory_of(guest.kernel.architecture)
        self.program = directory / "rpcordma-peer"
        self.tests = directory / "sanitize" / "tests"
        guest.run(f"modprobe -a {' '.join(MODULES)}")

    def spawn(self, *arguments: str) -> Process:
        """Starts it with these arguments."""
        return self.guest.spawn(f"exec {shlex.join([str(self.program), *arguments])}")

    def run(self, *arguments: str, timeout: float = 120, check: bool = True) -> Result:
        """Runs it to its end; a status other than 0 is an error where checked."""
        return self.guest.run(shlex.join([str(self.program), *arguments]), timeout, check)

    def json(self, *arguments: str, timeout: float = 120) -> dict:
        """What it has to say as JSON."""
        printed = self.run("--json", *arguments, timeout=timeout).stdout
        try:
            return json.loads(printed)
        except ValueError as error:
            raise LabError(f"rpcordma-peer printed no JSON:\n{printed}") from error
