# SPDX-License-Identifier: GPL-2.0-only
"""Which lines of the module a kernel with gcov has executed: what a guest has counted is kept for kernel-coverage."""

import base64
import itertools
import subprocess
from pathlib import Path

from lab.guest import Guest
from lab.kernel import Kernel
from lab.paths import CHECKOUT

COUNTERS = "/sys/kernel/debug/gcov"
KEPT = CHECKOUT / "build" / "kernel-coverage"
# Files of that file system have no length, which tar would believe.
GATHER = ("cd {there} && find kmod -name '*.gcda' | while read -r file; do "
          "mkdir -p {here}/$(dirname $file) && cat $file >{here}/$file; done && tar -C {here} -cz . | base64 -w 0")
SECONDS = 120


def is_counted(kernel: Kernel) -> bool:
    """Whether that kernel counts."""
    return kernel.is_test and "-gcov-" in kernel.release


def keep(guest: Guest) -> None:
    """Takes what has been counted since the guest's boot out of it, before it ends."""
    if not guest.alive or not is_counted(guest.kernel):
        return
    build = CHECKOUT / "build" / guest.kernel.release
    packed = guest.output(GATHER.format(there=f"{COUNTERS}{build}", here="/tmp/gcov"), SECONDS)
    target = next(path for path in (KEPT / str(number) for number in itertools.count(1)) if not path.exists())
    target.mkdir(parents=True)
    subprocess.run(["tar", "-xz", "-C", target], input=base64.b64decode(packed), check=True)
    for counters in list(target.rglob("*.gcda")):
        notes = Path(counters.relative_to(target)).with_suffix(".gcno")
        counters.with_suffix(".gcno").symlink_to(build / notes)
