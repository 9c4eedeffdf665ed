# SPDX-License-Identifier: GPL-2.0-only
"""Roots of other Debian releases, as scripts/root makes them: what guests have for user space beside this machine's."""

import os
import platform
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from lab.errors import CommandFailed
from lab.paths import CHECKOUT

ROOT = CHECKOUT / "scripts" / "root"
# This machine's release of Debian, such as "13".
RELEASE = platform.freedesktop_os_release().get("VERSION_ID", "")
# What Debian calls this machine's architecture.
NATIVE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
# The release whose user space guests have, such as "13"; this machine's where it is not set.
SYSTEM = os.environ.get("SYSTEM", "")


def directory_of(name: str) -> Path | None:
    """Where a root is, if it has been made."""
    found = subprocess.run([ROOT, name, "path"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                           check=False)
    return Path(found.stdout.strip()) if found.returncode == 0 else None


def made(name: str) -> Path:
    """Where a root is, which has been made."""
    directory = directory_of(name)
    if directory is None:
        raise FileNotFoundError(f"there is no root {name}: scripts/root {name} makes it")
    return directory


def guest_root(architecture: str = NATIVE) -> Path:
    """The root of guests of an architecture for which nothing else is said."""
    if architecture != NATIVE:
        return made(f"12-{architecture}")
    return made(f"{SYSTEM}-system") if SYSTEM else Path("/")


class System:
    """A root in which things may be changed, for as long as a block lasts: the changes are in memory.

    The mounts are for root, in a mount namespace of the caller's (unshare --mount), which ends with the caller.
    """

    def __init__(self, release: str):
        self.release = release
        self._directory = Path(tempfile.mkdtemp(prefix="rpcordma-system-"))
        self.root = self._directory / "root"

    def __enter__(self) -> Self:
        lower = made(f"{self.release}-system")
        upper, work = self._directory / "upper", self._directory / "work"
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", self._directory], check=True)
        for directory in (self.root, upper, work):
            directory.mkdir()
        subprocess.run(["mount", "-t", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", "overlay",
                        self.root], check=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        for mounted in (self.root, self._directory):
            subprocess.run(["umount", mounted], check=True)
        self._directory.rmdir()

    def run(self, *command: str) -> str:
        """What a command in it says, which has to succeed; it finds the checkout where it is here."""
        done = subprocess.run([ROOT, self.root, "run", *command], cwd=CHECKOUT, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        if done.returncode != 0:
            raise CommandFailed(f"Debian {self.release}: '{' '.join(command)}' ended with status {done.returncode}:\n"
                                f"{done.stdout}")
        return done.stdout
