# SPDX-License-Identifier: GPL-2.0-only
"""What is measured: the rows of the table."""

import json
from dataclasses import dataclass

from lab.paths import GUEST_SCRIPTS

MEBIBYTE = 1 << 20
# The directory of the export on the server, and where the client mounts it.
EXPORT = "/srv/nfs/bench"
MOUNT_POINT = "/mnt"
# What the source and the expected contents of written files are kept in, in the guest.
SCRATCH = "/run/rpcordma-bench"
# Eight bytes, so that every block begins with the first of them.
PATTERN = "rpcordma"
WARM_UP_FILES = 200


class Unfit(Exception):
    """A measurement is not what it is meant to be, so its figures say nothing."""


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
        return self._fio("verify", "randwrite", min(self.size, max(MEBIBYTE, 16 * self.block)),
                         "--verify=crc32c --verify_fatal=1 --verify_state_save=0 --do_verify=1")

    @property
    def timed(self) -> str:
        """The command that is timed; it prints what sample() takes."""
        kind = "rw" if self.is_mixed else "write" if self.writes else "read"
        return self._fio(self.file, ("rand" if self.random else "") + kind, self.size,
                         f"--rwmixread={self.reads} --buffer_pattern='\"{PATTERN}\"' --output-format=json")

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

    def _fio(self, file: str, direction: str, size: int, more: str) -> str:
        return (f"fio --name=bench --filename={MOUNT_POINT}/{file} --rw={direction} --bs={self.block} "
                f"--iodepth={self.depth} --size={size} --direct=1 --ioengine=libaio --randseed=1 "
                f"--scramble_buffers=0 {more}")


@dataclass(frozen=True)
class Files:
    """Operations on empty files, one after the other."""

    name: str
    action: str
    operations: int
    is_large = False

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
        commands = [self._command("create", "warm-up", WARM_UP_FILES),
                    self._command("remove", "warm-up", WARM_UP_FILES)]
        if self.action in ("attributes", "look-up"):
            commands.append(self._command(self.action, "warm-up", WARM_UP_FILES))
        if self.action == "remove":
            commands.append(f"[ -e {MOUNT_POINT}/files/file-0 ] || "
                            f"{self._command('create', 'files', self.operations)}")
        return " && ".join(f"{{ {command}; }}" for command in commands)

    @property
    def timed(self) -> str:
        """The command that is timed; it prints what sample() takes."""
        return self._command(self.action, "files", self.operations)

    @property
    def verify(self) -> str:
        """The server has all of them, or none."""
        if self.action in ("attributes", "look-up"):
            return "true"
        expected = self.operations if self.action == "create" else 0
        return f"[ $(find {EXPORT}/files -type f | wc -l) = {expected} ]"

    @property
    def verify_unmounted(self) -> str:
        """Nothing more can be said without the mount."""
        return "true"

    def sample(self, output: str) -> Sample:
        """Takes what the timed command printed."""
        return Sample(self.operations, int(output), None)

    def _command(self, action: str, directory: str, count: int) -> str:
        return (f"/usr/bin/python3 -S -E {GUEST_SCRIPTS}/bench-files.py {action} "
                f"{MOUNT_POINT}/{directory} {count}")


Workload = Transfer | Files

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
    Files("attributes", "attributes", 5000),
    Files("look-up", "look-up", 5000),
    Files("create", "create", 3000),
    Files("remove", "remove", 3000))

LARGEST = 128 * MEBIBYTE
