# SPDX-License-Identifier: GPL-2.0-only
"""The guest in which everything is measured: one processor whose clock counts its instructions."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.profile import Profiler
from bench.workloads import LARGEST, PATTERN, SCRATCH, Unfit, mount_points
from lab.board import BOARDS, Board
from lab.guest import Guest, Hardware
from lab.kernel import Kernel
from lab.module import guest_module, module_file
from lab.pair import OURS, STOCK, Mount

IN_TREE_MODULE = "rpcrdma"
OUR_MODULE = "rpcordma"
# No module of RPC over RDMA at all.
TCP = "tcp"
# Ours at one end, the kernel's own at the other.
OUR_CLIENT, OUR_SERVER = "our-client", "our-server"
MIXED = {OUR_CLIENT: "client", OUR_SERVER: "server"}
# The transports, as people are told of them.
NAMES = {STOCK: "in-tree", OURS: "ours", TCP: "TCP", OUR_CLIENT: "our client", OUR_SERVER: "our server"}
# What the client offers, and what the server accepts.
HIGHEST_VERSION = ("rdma_highest_version", "svc_rdma/highest_version")
# What is loaded; the first is the one that is measured.
MODULES = {STOCK: [IN_TREE_MODULE], OURS: [OUR_MODULE],
           OUR_CLIENT: [OUR_MODULE, IN_TREE_MODULE], OUR_SERVER: [OUR_MODULE, IN_TREE_MODULE]}
TRANSFER_SIZE = str(1 << 20)
# Of Linux 7.3.
DIRECTORY_DELEGATIONS = "/sys/module/nfsv4/parameters/directory_delegations"


def instruction_counting(board: Board, processor: str | None) -> list[str]:
    """QEMU's options with which a nanosecond of the guest's time is an instruction. The processor is QEMU's name of it,
    or the usual one."""
    return ["-accel", "tcg,thread=single", "-cpu", processor or board.counted_processor,
            "-icount", "shift=0,sleep=off"]


def sysctls(inline: int | None) -> dict[str, int]:
    """What is set for both modules: the in-tree one's defaults, but each its own inline thresholds unless told."""
    settings = {
        "rdma_slot_table_entries": 128,
        "svc_rdma/max_requests": 64,
        "svc_rdma/max_outbound_read_requests": 16,
    }
    if inline is not None:
        settings |= dict.fromkeys(("rdma_max_inline_read", "rdma_max_inline_write", "svc_rdma/max_req_size"), inline)
    return settings


@dataclass(frozen=True)
class Identity:
    """Which module carried what was measured."""

    module: str
    version: str
    file: str
    sha256: str

    def __str__(self) -> str:
        return " ".join(filter(None, [self.module, self.version, f"({self.file}, sha256 {self.sha256[:12] or '-'})"]))


class Machine:
    """A guest that is server and client at once."""

    def __init__(self, kernel: Kernel, logs: Path, profiler: Profiler | None = None, processor: str | None = None):
        self.kernel = kernel
        self.profiler = profiler
        board = BOARDS[kernel.architecture]
        self.counting = instruction_counting(board, processor)
        # With nothing to do, the guest's clock would jump to its next timer, again and again while it waits for the
        # host: by minutes, after which connections count as idle and are closed. So it spends instructions then, too.
        self.guest = Guest("bench", kernel, logs, Hardware(
            memory="4G", processors=1, processor_options=self.counting + (profiler.options if profiler else []),
            has_own_time=True, kernel_options=board.busy_idle))

    def start(self) -> None:
        """Boots it, with the network and the files that every run takes from."""
        self.guest.start()
        self.guest.wait_until_ready()
        self._script("prepare")
        # With them the client answers from its cache what it is asked for.
        self.guest.run(f"modprobe nfsv4 && {{ [ ! -e {DIRECTORY_DELEGATIONS} ] || echo N >{DIRECTORY_DELEGATIONS}; }}")
        self.guest.run(
            f"mkdir -p {SCRATCH} && cp {guest_module(self.kernel, 'null-calls')} {SCRATCH} && "
            f"head -c {LARGEST} /dev/urandom >{SCRATCH}/source && "
            f"yes {PATTERN} | tr -d '\\n' | head -c {LARGEST} >{SCRATCH}/expected", timeout=300)

    def stop(self) -> None:
        """Pulls the plug."""
        self.guest.kill()

    @contextmanager
    def transport(self, transport: str, settings: dict[str, int], file: Path | None = None,
                  protocol: int | None = None) -> Iterator[Identity]:
        """While it lasts, that module is the one that is loaded, with these sysctls."""
        if transport == TCP:
            self._script("unload")
            self.guest.run(f"echo tcp=1 port=2049 >{SCRATCH}/null-options")
            yield Identity("sunrpc", "", self.guest.output("modinfo -F filename sunrpc").strip(), "")
            return
        self.guest.run(f"echo port=20049 >{SCRATCH}/null-options")
        path = (file or module_file(self.kernel)) if transport != STOCK else None
        if transport in MIXED:
            self.guest.script("transport", "mix", str(path), str(guest_module(self.kernel, "mixed-transports")),
                              MIXED[transport])
        else:
            self.guest.script("transport", "load", str(path) if path else STOCK)
        # Where both are loaded, the names are those of the in-tree module, which speaks version 1 alone.
        highest = {name: protocol for name in HIGHEST_VERSION} if protocol and transport not in MIXED else {}
        for name, value in (settings | highest).items():
            file = f"/proc/sys/sunrpc/{name}"
            self.guest.run(f"echo {value} >{file}")
            if self.guest.read(file).split() != [str(value)]:
                raise Unfit(f"{file} does not take {value}")
        yield self._identity(transport, path)
        self._script("unload")

    @contextmanager
    def export(self, protocol: str, prepare: list[str]) -> Iterator[None]:
        """While it lasts, a new tmpfs is exported over "rdma" or "tcp", in which these commands have been run."""
        self._script("start", protocol)
        for command in prepare:
            self.guest.run(command, timeout=300)
        yield
        self._script("stop")

    @contextmanager
    def mounted(self, version: str, protocol: str, connections: int, transport: str) -> Iterator[list[Mount]]:
        """While it lasts, the export is mounted over "rdma" or "tcp", by so many connections, and that by the module it
        should be, or both: once for each 16 of them."""
        self._script("mount", version, protocol, str(connections))
        mounts = [Mount(self.guest, path, version, "") for path in mount_points(connections)]
        wanted = {"vers": version, "proto": protocol, "rsize": TRANSFER_SIZE, "wsize": TRANSFER_SIZE, "sec": "sys"}
        for mount in mounts:
            options = mount.options()
            found = {name: options.get(name) for name in wanted}
            if found != wanted:
                raise Unfit(f"mounted with {found} instead of {wanted}")
        if protocol == "rdma":
            if "rdma 20049" not in self.guest.read("/proc/fs/nfsd/portlist"):
                raise Unfit("the server has no listener for RDMA")
            self._require_in_use(transport)
        made = sum(len(mount.stats().transports) for mount in mounts)
        if made != connections:
            raise Unfit(f"there are {made} transports instead of {connections}")
        yield mounts
        self._script("unmount")

    def _identity(self, transport: str, path: Path | None) -> Identity:
        wanted = MODULES[transport]
        loaded = self._loaded()
        if sorted(loaded) != sorted(wanted):
            raise Unfit(f"{wanted} should be loaded, and nothing else of its kind: {list(loaded)}")
        module = wanted[0]
        file = str(path) if path else self.guest.output(f"modinfo -F filename {module}").strip()
        version = self.guest.output(f"cat /sys/module/{module}/version 2>/dev/null || true").strip()
        # The guest has the kernel's modules elsewhere than this machine where they are those of a root.
        here = path or self.kernel.modules / file.split(f"/{self.kernel.release}/")[1]
        return Identity(module, version, file, hashlib.sha256(here.read_bytes()).hexdigest())

    def _require_in_use(self, transport: str) -> None:
        """The listener and the mount each hold the module that carries them."""
        wanted = MODULES[transport]
        loaded = self._loaded()
        if sorted(loaded) != sorted(wanted) or any(holders < 2 // len(wanted) for holders in loaded.values()):
            raise Unfit(f"{wanted} should be in use by client and server: {loaded}")

    def _loaded(self) -> dict[str, int]:
        """The modules that can carry RPC over RDMA, and how many hold each."""
        lines = [line.split() for line in self.guest.read("/proc/modules").splitlines()]
        return {words[0]: int(words[2]) for words in lines if words[0] in (IN_TREE_MODULE, OUR_MODULE)}

    def _script(self, *words: str) -> None:
        self.guest.script("bench-nfs", *words)
