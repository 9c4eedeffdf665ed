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
    """Reads or writes of one size, a number of them at a time, in O_DIRECT."""

    name: str
    write: bool
    random: bool
    block: int
    depth: int
    size: int

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
        return f"written-{self.block}-{self.depth}" if self.write else "source"

    def procedure(self, _version: str) -> str:
        """The RPC of which there must be one for each operation."""
        return "WRITE" if self.write else "READ"

    @property
    def prepare(self) -> str:
        """Before the export is mounted, on the server: a file to write has its pages already."""
        if self.write:
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
        direction = ("rand" if self.random else "") + ("write" if self.write else "read")
        return self._fio(self.file, direction, self.size,
                         f"--buffer_pattern='\"{PATTERN}\"' --output-format=json")

    @property
    def verify(self) -> str:
        """Read rows: what was read in the timed part, read once more, is what was put there."""
        if self.write:
            return "true"
        return (f"dd if={MOUNT_POINT}/{self.file} bs=1M count={self.size // MEBIBYTE} iflag=direct status=none | "
                f"cmp -n {self.size} - {SCRATCH}/source")

    @property
    def verify_unmounted(self) -> str:
        """Write rows: what the server has is what was written in the timed part."""
        return f"cmp -n {self.size} {EXPORT}/{self.file} {SCRATCH}/expected" if self.write else "true"

    def sample(self, output: str) -> Sample:
        """Takes what the timed command printed."""
        fio = json.loads(output)
        job = fio["jobs"][0]
        figures = job["write" if self.write else "read"]
        if job["error"] or figures["total_ios"] != self.operations:
            raise Unfit(f"fio made {figures['total_ios']} of {self.operations} operations, "
                        f"error {job['error']}")
        return Sample(self.operations, figures["runtime"] * 1_000_000, fio)

    def _fio(self, file: str, direction: str, size: int, more: str) -> str:
        return (f"fio --name=bench --filename={MOUNT_POINT}/{file} --rw={direction} --bs={self.block} "
                f"--iodepth={self.depth} --size={size} --direct=1 --ioengine=libaio --randseed=1 "
                f"--scramble_buffers=0 {more}")


@dataclass(frozen=True)
class Files:
    """Empty files, created or removed one after the other."""

    name: str
    action: str
    operations: int
    is_large = False

    def procedure(self, version: str) -> str:
        """The RPC of which there must be one for each operation."""
        if self.action == "remove":
            return "REMOVE"
        return "CREATE" if version == "3" else "OPEN"

    @property
    def prepare(self) -> str:
        """Before the export is mounted, on the server."""
        return f"mkdir -p {EXPORT}/warm-up {EXPORT}/files"

    @property
    def warm_up(self) -> str:
        """The same, untimed, with fewer; and all files that are to be removed."""
        commands = [self._command("create", "warm-up", WARM_UP_FILES),
                    self._command("remove", "warm-up", WARM_UP_FILES)]
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
    Transfer("4 KiB read, depth 1", False, True, 4096, 1, 16 * MEBIBYTE),
    Transfer("4 KiB write, depth 1", True, True, 4096, 1, 16 * MEBIBYTE),
    Transfer("4 KiB read, depth 16", False, True, 4096, 16, 32 * MEBIBYTE),
    Transfer("4 KiB write, depth 16", True, True, 4096, 16, 32 * MEBIBYTE),
    Transfer("1 MiB read, depth 4", False, False, MEBIBYTE, 4, 128 * MEBIBYTE),
    Transfer("1 MiB write, depth 4", True, False, MEBIBYTE, 4, 128 * MEBIBYTE),
    Files("create", "create", 3000),
    Files("remove", "remove", 3000))

LARGEST = 128 * MEBIBYTE
