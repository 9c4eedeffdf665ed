# SPDX-License-Identifier: GPL-2.0-only
"""What a seed chooses: where a run takes place, and which faults come in which order."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

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


@dataclass(frozen=True)
class Cell:
    """Where a run takes place: two guests with our module, and how they mount."""

    server: str
    client: str
    nfs: str
    # Of RPC-over-RDMA.
    protocol: str
    export: str
    # Of both kernels.
    flavour: str = STOCK

    @classmethod
    def of(cls, seed: int, **fixed: str | None) -> "Cell":
        """What the seed chooses, but for what is fixed; that changes nothing else that the seed chooses.

        It chooses Debian's kernels.
        """
        draw = random.Random(f"cell {seed}")
        drawn = cls(draw.choice(KERNELS), draw.choice(KERNELS), draw.choice(NFS_VERSIONS), draw.choice(PROTOCOLS),
                    draw.choice(EXPORTS))
        cell = replace(drawn, **{name: value for name, value in fixed.items() if value is not None})
        return cell if cell.flavour == STOCK else replace(cell, export=TMPFS)

    def options(self) -> str:
        """The options of scripts/ordeal that fix all of it."""
        return " ".join(f"--{field.name} {getattr(self, field.name)}" for field in fields(self))

    def __str__(self) -> str:
        return (f"client {self.client}, server {self.server}, NFS {self.nfs}, RPC-over-RDMA version {self.protocol}, "
                f"{self.export}{'' if self.flavour == STOCK else f', test kernels ({self.flavour})'}")


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
