# SPDX-License-Identifier: GPL-2.0-only
"""What is measured: the rows of the table."""

import json
import math
from dataclasses import dataclass

from lab.paths import GUEST_SCRIPTS

MEBIBYTE = 1 << 20
# The directory of the export on the server, and where the client mounts it.
EXPORT = "/srv/nfs/bench"
MOUNT_POINT = "/mnt"
MOST_CONNECTIONS = 16
# What the source and the expected contents of written files are kept in, in the guest.
SCRATCH = "/run/rpcordma-bench"
# Eight bytes, so that every block begins with the first of them.
PATTERN = "rpcordma"
# The program that does what is measured with files, and where the server is.
FILES = f"/usr/bin/python3 -S -E {GUEST_SCRIPTS}/bench-files.py"
ADDRESS = "10.9.0.1"
WARM_UP_FILES = 200


class Unfit(Exception):
    """A measurement is not what it is meant to be, so its figures say nothing."""


def mount_points(connections: int) -> list[str]:
    """Where an export is mounted that so many connections lead to: the NFS client makes 16 at most for a mount."""
    return [MOUNT_POINT, *(f"{MOUNT_POINT}-{number}" for number in range(2, -(-connections // MOST_CONNECTIONS) + 1))]


@dataclass(frozen=True)
class Sample:
    """One timed run of a workload."""

    operations: int
    nanoseconds: int
    # As fio printed it; None for workloads without fio.
    fio: dict | None


@dataclass(frozen=True)
class Transfer:
    """Reads, writes or both of one size, a number of them at a time, in O_DIRECT."""

    name: str
    # The share of reads among them, in percent.
    reads: int
    random: bool
    block: int
    depth: int
    size: int
    # How many connections it is spread over. They are read from only.
    connections: int = 1
    # Where it is not 0: the same has been carried out once before, and then no RPC for so many seconds.
    idle: int = 0

    @property
    def writes(self) -> bool:
        """Whether there is a write among them."""
        return self.reads < 100

    @property
    def operations(self) -> int:
        """How many there are: the file is gone through once."""
        return self.size // self.block

    @property
    def is_large(self) -> bool:
        """Whether an operation moves so much that the figure differs from mount to mount."""
        return self.block >= MEBIBYTE

    @property
    def file(self) -> str:
        """The name of the file, from the export's top: all read the same one."""
        return f"written-{self.reads}-{self.block}-{self.depth}" if self.writes else "source"

    def procedures(self, _version: str) -> tuple[str, ...]:
        """The RPCs of which there must be one for each operation."""
        return ("READ",) * (self.reads > 0) + ("WRITE",) * self.writes

    @property
    def is_mixed(self) -> bool:
        """Whether there are both reads and writes."""
        return 0 < self.reads < 100

    @property
    def prepare(self) -> str:
        """Before the export is mounted, on the server: a file to write has its pages already. One that is also read has
        the contents already that it will have."""
        if self.is_mixed:
            return f"head -c {self.size} {SCRATCH}/expected >{EXPORT}/{self.file}"
        if self.writes:
            return f"head -c {self.size} /dev/zero >{EXPORT}/{self.file}"
        return f"cp -n {SCRATCH}/source {EXPORT}/source"

    @property
    def warm_up(self) -> str:
        """The same, untimed, with contents that tell where they belong and that fio verifies."""
        files = [f"{place}/verify-{number}" for number, place in enumerate(mount_points(self.connections))]
        return self._fio(files, "randwrite", min(self.size, max(MEBIBYTE, 16 * self.block) * len(files)),
                         "--verify=crc32c --verify_fatal=1 --verify_state_save=0 --do_verify=1")

    @property
    def timed(self) -> str:
        """The command that is timed; it prints what sample() takes."""
        return self._transfer(self.size)

    @property
    def rest(self) -> str:
        """What comes directly before the timed command. Time without RPCs passes in a loop of the shell: the clock
        counts instructions, and those of the kernel's idle loop are emulated slowly."""
        if not self.idle:
            return "true"
        return f"{{ {self.timed}; }} >/dev/null && {{ timeout {self.idle} sh -c 'while :; do :; done'; true; }}"

    @property
    def few(self) -> int:
        """How many of the operations short() carries out."""
        return self.depth

    @property
    def short(self) -> str:
        """The timed command with few operations: what is executed around them."""
        return self._transfer(self.few * self.block)

    @property
    def verify(self) -> str:
        """Read rows: what was read in the timed part, read once more, is what was put there."""
        if self.writes:
            return "true"
        return (f"dd if={MOUNT_POINT}/{self.file} bs=1M count={self.size // MEBIBYTE} iflag=direct status=none | "
                f"cmp -n {self.size} - {SCRATCH}/source")

    @property
    def verify_unmounted(self) -> str:
        """Write rows: what the server has is what was written in the timed part."""
        return f"cmp -n {self.size} {EXPORT}/{self.file} {SCRATCH}/expected" if self.writes else "true"

    def sample(self, output: str) -> Sample:
        """Takes what the timed command printed."""
        fio = json.loads(output)
        job = fio["jobs"][0]
        made = job["read"]["total_ios"] + job["write"]["total_ios"]
        if job["error"] or made != self.operations:
            raise Unfit(f"fio made {made} of {self.operations} operations, error {job['error']}")
        return Sample(self.operations, max(job["read"]["runtime"], job["write"]["runtime"]) * 1_000_000, fio)

    def _transfer(self, size: int) -> str:
        kind = "rw" if self.is_mixed else "write" if self.writes else "read"
        files = [f"{place}/{self.file}" for place in mount_points(self.connections)]
        return self._fio(files, ("rand" if self.random else "") + kind, size,
                         f"--rwmixread={self.reads} --buffer_pattern='\"{PATTERN}\"' --output-format=json")

    def _fio(self, files: list[str], direction: str, size: int, more: str) -> str:
        return (f"fio --name=bench --filename={':'.join(files)} --rw={direction} --bs={self.block} "
                f"--iodepth={self.depth} --size={size} --direct=1 --ioengine=libaio --randseed=1 "
                f"--scramble_buffers=0 {more}")


@dataclass(frozen=True)
class Sequence:
    """Operations one after the other, by a program that prints how many nanoseconds all of them took."""

    name: str
    operations: int
    is_large = False
    connections = 1
    # As in Transfer.
    rest = "true"
    few = 0
    verify = "true"
    verify_unmounted = "true"

    def sample(self, output: str) -> Sample:
        """Takes what the timed command printed."""
        return Sample(self.operations, int(output), None)


@dataclass(frozen=True)
class Files(Sequence):
    """Operations on empty files."""

    action: str

    def procedures(self, version: str) -> tuple[str, ...]:
        """The RPC of which there must be one for each operation."""
        if self.action == "create":
            return ("CREATE" if version == "3" else "OPEN",)
        return ({"remove": "REMOVE", "attributes": "GETATTR", "look-up": "LOOKUP"}[self.action],)

    @property
    def prepare(self) -> str:
        """Before the export is mounted, on the server."""
        return f"mkdir -p {EXPORT}/warm-up {EXPORT}/files"

    @property
    def warm_up(self) -> str:
        """The same, untimed, with fewer; and all files that are to be removed."""
        commands = [_files("create", "warm-up", WARM_UP_FILES), _files("remove", "warm-up", WARM_UP_FILES)]
        if self.action in ("attributes", "look-up"):
            commands.append(_files(self.action, "warm-up", WARM_UP_FILES))
        if self.action == "remove":
            commands.append(f"[ -e {MOUNT_POINT}/files/file-0 ] || {_files('create', 'files', self.operations)}")
        return " && ".join(f"{{ {command}; }}" for command in commands)

    @property
    def timed(self) -> str:
        """The command that is timed; it prints what sample() takes."""
        return _files(self.action, "files", self.operations)

    @property
    def short(self) -> str:
        """The same with no operation."""
        return _files(self.action, "files", self.few)

    @property
    def verify(self) -> str:
        """The server has all of them, or none."""
        if self.action in ("attributes", "look-up"):
            return "true"
        expected = self.operations if self.action == "create" else 0
        return f"[ $(find {EXPORT}/files -type f | wc -l) = {expected} ]"


@dataclass(frozen=True)
class Lists(Sequence):
    """Whole directories are read, each once, so that the client has nothing of it."""

    def procedures(self, version: str) -> tuple[str, ...]:
        """The RPCs of which there must be at least one for each operation."""
        return ("READDIR", "READDIRPLUS") if version == "3" else ("READDIR",)

    @property
    def prepare(self) -> str:
        """Before the export is mounted, on the server."""
        return " && ".join(f"mkdir -p {EXPORT}/{top} && {FILES} fill {EXPORT}/{top} {count}"
                           for top, count in (("listed-before", 1), ("listed", self.operations)))

    @property
    def warm_up(self) -> str:
        """The same, untimed, with another directory."""
        return _files("list", "listed-before", 1)

    @property
    def timed(self) -> str:
        """The command that is timed; it prints what sample() takes, and fails where a name is missing."""
        return _files("list", "listed", self.operations)

    @property
    def short(self) -> str:
        """The same with no operation."""
        return _files("list", "listed", self.few)


@dataclass(frozen=True)
class NullCalls(Sequence):
    """Calls of the procedure NULL from the kernel, over a connection of their own."""

    prepare = "true"

    def procedures(self, _version: str) -> tuple[str, ...]:
        """None that the mount counts. The module null-calls fails where one of them does."""
        return ()

    @property
    def warm_up(self) -> str:
        """The same, untimed."""
        return self._command(WARM_UP_FILES)

    @property
    def timed(self) -> str:
        """The command that is timed; it prints what sample() takes."""
        return self._command(self.operations)

    @property
    def short(self) -> str:
        """The same with no operation."""
        return self._command(self.few)

    @staticmethod
    def _command(count: int) -> str:
        return (f"insmod {SCRATCH}/null_calls.ko address={ADDRESS} count={count} "
                f"$(cat {SCRATCH}/null-options) && "
                "cat /sys/module/null_calls/parameters/nanoseconds && rmmod null_calls")


def _files(action: str, directory: str, count: int) -> str:
    return f"{FILES} {action} {MOUNT_POINT}/{directory} {count}"


Workload = Transfer | Files | Lists | NullCalls

WORKLOADS: tuple[Workload, ...] = (
    Transfer("4 KiB read, depth 1", 100, True, 4096, 1, 16 * MEBIBYTE),
    Transfer("4 KiB write, depth 1", 0, True, 4096, 1, 16 * MEBIBYTE),
    Transfer("4 KiB read, depth 16", 100, True, 4096, 16, 32 * MEBIBYTE),
    Transfer("4 KiB write, depth 16", 0, True, 4096, 16, 32 * MEBIBYTE),
    Transfer("4 KiB read, depth 256", 100, True, 4096, 256, 32 * MEBIBYTE),
    Transfer("4 KiB write, depth 256", 0, True, 4096, 256, 32 * MEBIBYTE),
    Transfer("8 KiB mixed, depth 16", 70, True, 8192, 16, 64 * MEBIBYTE),
    Transfer("64 KiB read, depth 4", 100, True, 65536, 4, 128 * MEBIBYTE),
    Transfer("64 KiB write, depth 4", 0, True, 65536, 4, 128 * MEBIBYTE),
    Transfer("1 MiB read, depth 4", 100, False, MEBIBYTE, 4, 128 * MEBIBYTE),
    Transfer("1 MiB write, depth 4", 0, False, MEBIBYTE, 4, 128 * MEBIBYTE),
    NullCalls("NULL", 5000),
    Files("attributes", 5000, "attributes"),
    Files("look-up", 5000, "look-up"),
    Files("create", 3000, "create"),
    Files("remove", 3000, "remove"),
    Lists("list 2000 names", 10))

LARGEST = 128 * MEBIBYTE


@dataclass(frozen=True)
class Curve:
    """How the cost of an operation grows with something: the attribute of the workloads that is along the axis."""

    axis: str
    attribute: str
    workloads: tuple[Transfer, ...]
    # How much more an operation of the last workload may cost than one of the first, with our module.
    growth: float = math.inf


KINDS = {"read": 100, "write": 0}
CURVES = {
    "outstanding": Curve("RPCs outstanding", "depth", tuple(
        Transfer(f"4 KiB {kind}, depth {depth}", reads, True, 4096, depth, 16 * MEBIBYTE)
        for kind, reads in KINDS.items() for depth in (1, 4, 16, 64, 256, 1024))),
    "payload": Curve("bytes of payload", "block", tuple(
        Transfer(f"{block} B {kind}, depth 4", reads, True, block, 4, min(2048 * block, 64 * MEBIBYTE))
        for kind, reads in KINDS.items() for block in (512, 4096, 8192, 16384, 65536, 262144, MEBIBYTE))),
    "connections": Curve("connections", "connections", tuple(
        Transfer(f"4 KiB read, connections {count}", 100, True, 4096, 128, 16 * MEBIBYTE, count)
        for count in (1, 4, 16, 64, 128, 256))),
    # Long enough for a connection to give back what it has: it looks every ten seconds, and halves a grant each time.
    "idle": Curve("seconds without an RPC before", "idle", tuple(
        Transfer(f"4 KiB read, depth 64, idle {seconds} s", 100, True, 4096, 64, 16 * MEBIBYTE, idle=seconds)
        for seconds in (1, 60)), growth=1.05)}
