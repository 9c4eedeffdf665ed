# SPDX-License-Identifier: GPL-2.0-only
"""Our module for a kernel, and what else is compiled for a guest: where it is, and how it gets there."""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.errors import LabError
from lab.kernel import Kernel
from lab.paths import CHECKOUT, GUEST_SCRIPTS
from lab.system import NATIVE

# For programs that are RDMA peers themselves.
VERBS = ("-lrdmacm", "-libverbs")


def named_by_environment(kernel: Kernel) -> Path | None:
    """A module built elsewhere: RPCORDMA_KO_6_12 and the like name one."""
    named = os.environ.get("RPCORDMA_KO_" + re.sub(r"\W", "_", kernel.series))
    return Path(named).resolve() if named else None


def module_file(kernel: Kernel) -> Path:
    """The file to load into that kernel."""
    path = named_by_environment(kernel) or CHECKOUT / "build" / kernel.release / "rpcordma.ko"
    if not path.is_file():
        raise LabError(f"no module for {kernel.release}: make KVER={kernel.release} builds {path}")
    return path


def build_module(kernel: Kernel) -> None:
    """Builds the module, unless the environment names one; says nothing where that works, without a warning."""
    if named_by_environment(kernel):
        return
    print(f"lab: building rpcordma.ko for {kernel.release}", flush=True)
    built = subprocess.run(kernel.build_command("make", "--no-print-directory", "module", f"KVER={kernel.release}",
                                                f"KDIR={kernel.headers}", *kernel.cross),
                           cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if built.returncode != 0 or "warning" in (built.stdout + built.stderr).lower():
        raise LabError(f"the module for {kernel.release} does not build without a warning:\n"
                       f"{built.stdout}{built.stderr}")


def guest_module(kernel: Kernel, name: str) -> Path:
    """A module that the lab has for guests: harness/guest/NAME, built where that has changed."""
    directory = CHECKOUT / "build" / kernel.release / name
    file = directory / f"{name.replace('-', '_')}.ko"
    sources = GUEST_SCRIPTS / name
    # Every machine has one of these modules, and nobody says that only one of them is started at a time. A module that
    # another builds is there before it is whole.
    with locked(directory):
        if not file.exists() or any(file.stat().st_mtime <= source.stat().st_mtime for source in sources.iterdir()):
            shutil.copytree(sources, directory, dirs_exist_ok=True)
            _build_guest_module(kernel, directory)
    return file


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Nobody else is in such a block with this directory."""
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _build_guest_module(kernel: Kernel, directory: Path) -> None:
    """Builds it from the sources there."""
    built = subprocess.run(kernel.build_command("make", "-C", kernel.headers, f"M={directory}", *kernel.cross,
                                                "modules"),
                           cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        raise LabError(f"{directory.name} for {kernel.release} does not build:\n"
                       f"{built.stdout}{built.stderr}")


def guest_program(kernel: Kernel, name: str, *options: str) -> Path:
    """One of the C programs in harness/guest, for machines of the kernel's kind, with these options of the compiler."""
    program = CHECKOUT / "build" / "guest" / kernel.architecture / name
    program.parent.mkdir(parents=True, exist_ok=True)
    abroad = [CHECKOUT / "scripts" / "root", "12-cross", "run", "aarch64-linux-gnu-gcc-12"]
    compiler = ["gcc"] if kernel.architecture == NATIVE else abroad
    # Another may compile the same, and a machine may run what is there.
    with tempfile.TemporaryDirectory(dir=program.parent) as apart:
        made = Path(apart) / name
        subprocess.run([*compiler, "-O1", "-o", made, GUEST_SCRIPTS / f"{name}.c", *options], cwd=CHECKOUT, check=True)
        made.rename(program)
    return program
