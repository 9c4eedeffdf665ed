# SPDX-License-Identifier: GPL-2.0-only
"""What a seed chooses: where a run takes place, and which faults come in which order."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

KERNELS = ("6.12", "7.3")
NFS_VERSIONS = ("3", "4.0", "4.1", "4.2")
PROTOCOLS = ("1", "2")
EXT4 = "ext4"
EXPORTS = (EXT4, "xfs")
# Not on a disk: it is gone when the server is. The test kernel has no other.
TMPFS = "tmpfs"
# Debian's kernels, and the test kernels of scripts/test-kernel, with detectors.
STOCK = "stock"
FLAVOURS = (STOCK, "debug", "kcsan")
# Where our module is. The other end has the kernel's own.
BOTH = "both"
ENDS = (BOTH, "client", "server")
# By which users are known, and their Calls protected: sec= of the mount.
SYS = "sys"
SECURITIES = (SYS, "krb5", "krb5i", "krb5p")


@dataclass(frozen=True)
class Cell:
    """Where a run takes place: two guests, and how they mount."""

    server: str
    client: str
    nfs: str
    # Of RPC-over-RDMA.
    protocol: str
    export: str
    # Of both kernels.
    flavour: str = STOCK
    ours: str = BOTH
    security: str = SYS

    @classmethod
    def of(cls, seed: int, **fixed: str | None) -> "Cell":
        """What the seed chooses, but for what is fixed; that changes nothing else that the seed chooses.

        It chooses Debian's kernels. NFS 4.0 has no Kerberos here, because there a user without credentials opens files.
        """
        draw = random.Random(f"cell {seed}")
        drawn = cls(draw.choice(KERNELS), draw.choice(KERNELS), draw.choice(NFS_VERSIONS), draw.choice(PROTOCOLS),
                    draw.choice(EXPORTS), ours=draw.choice((BOTH, *ENDS)), security=draw.choice((SYS, *SECURITIES)))
        cell = replace(drawn, **{name: value for name, value in fixed.items() if value is not None})
        if cell.nfs == "4.0":
            cell = replace(cell, security=SYS)
        return cell if cell.flavour == STOCK else replace(cell, export=TMPFS, ours=BOTH, security=SYS)

    @classmethod
    def logged(cls, line: dict[str, Any]) -> "Cell":
        """The one of a run in the log. The first runs had no choice in all of it."""
        return cls(**{field.name: line.get(field.name, field.default) for field in fields(cls)})

    def options(self) -> str:
        """The options of scripts/ordeal that fix all of it."""
        return " ".join(f"--{field.name} {getattr(self, field.name)}" for field in fields(self))

    def __str__(self) -> str:
        words = [f"client {self.client}", f"server {self.server}", f"NFS {self.nfs}",
                 f"RPC-over-RDMA version {self.protocol}", self.export]
        if self.security != SYS:
            words.append(self.security)
        if self.ours != BOTH:
            words.append(f"our module at the {self.ours} only")
        if self.flavour != STOCK:
            words.append(f"test kernels ({self.flavour})")
        return ", ".join(words)


@dataclass(frozen=True)
class Fault:
    """One fault of a run."""

    number: int
    kind: str
    # Of what the kind leaves open, such as the end of the connection and how long it takes.
    seed: str

    def draw(self) -> random.Random:
        """What chooses that."""
        return random.Random(self.seed)


def faults(seed: int, kinds: Sequence[str]) -> Iterator[Fault]:
    """Faults without end: each kind once, in some order, then each once more in another."""
    draw = random.Random(f"faults {seed}")
    number = 0
    while True:
        for kind in draw.sample(sorted(kinds), len(kinds)):
            number += 1
            yield Fault(number, kind, f"{seed} {number} {kind}")
