# SPDX-License-Identifier: GPL-2.0-only
"""soft-iWARP for the test kernel: siw, mended where it forgets a message.

A machine that talks to itself meets that in every third connection: harness/kernel/siw.patch says how.
"""

import subprocess
from pathlib import Path

from lab.errors import LabError
from lab.kernel import Kernel
from lab.nfs import script
from lab.paths import CHECKOUT
from lab.solo import Device

SOURCES = Path("/usr/src/linux-source-6.12.tar.xz")
DIRECTORY = "drivers/infiniband/sw/siw"
PATCH = CHECKOUT / "harness" / "kernel" / "siw.patch"


def soft_iwarp(kernel: Kernel) -> Device:
    """The device for a guest with the test kernel."""
    module = build_siw(kernel)
    load = f"modprobe -a $(modinfo -F depends {module} | tr , ' ') && insmod {module}"
    return Device("siw", (load, script("network", "loopback")),
                  script("network", "add-siw"), script("network", "remove-siw"))


def build_siw(kernel: Kernel) -> Path:
    """The module, from the sources that the test kernel is built from."""
    directory = CHECKOUT / "build" / kernel.release / "siw"
    module = directory / "siw.ko"
    if module.exists() and module.stat().st_mtime > PATCH.stat().st_mtime:
        return module
    print("lab: building soft-iWARP", flush=True)
    directory.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        f"set -e; tar -xf {SOURCES} -C {directory} --strip-components=5 --wildcards "
        f"'linux-source-*/{DIRECTORY}/*'; patch -s -p1 -d {directory} <{PATCH}; "
        f"make -s -C {kernel.headers} M={directory} modules", shell=True,
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"soft-iWARP does not build (scripts/setup kernel has its sources):\n"
                       f"{done.stdout}{done.stderr}")
    return module
