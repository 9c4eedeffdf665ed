# SPDX-License-Identifier: GPL-2.0-only
"""Hardware acceleration where it works, which only a trial boot can tell."""

import hashlib
import os
import subprocess
from pathlib import Path

from lab.board import BOARDS
from lab.kernel import Kernel
from lab.paths import cache_directory
from lab.system import NATIVE

KVM = ["-accel", "kvm", "-cpu", "host"]
# A kernel with working KVM is at its first process in about a second.
TRIAL_SECONDS = 15
TRIAL_WORKED = "lab: trial boot works"


def acceleration(kernel: Kernel) -> list[str]:
    """QEMU's options for the fastest virtual CPU that works on this machine."""
    tcg = BOARDS[kernel.architecture].tcg
    if kernel.architecture != NATIVE or not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return tcg
    verdict = cache_directory() / f"kvm-{_this_host()}"
    if not verdict.exists():
        print("lab: trying whether KVM works here", flush=True)
        verdict.write_text("yes\n" if _trial_boot(kernel) else "no\n")
    return KVM if verdict.read_text() == "yes\n" else tcg


def _this_host() -> str:
    """A name for what the verdict depends on: the host's kernel, its boot, and QEMU."""
    version = subprocess.run([BOARDS[NATIVE].qemu, "--version"], check=True, capture_output=True).stdout
    boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    return hashlib.sha256(version + boot + os.uname().release.encode()).hexdigest()[:16]


def _trial_boot(kernel: Kernel) -> bool:
    board = BOARDS[NATIVE]
    command = [board.qemu, *board.machine, *KVM, "-nodefaults", "-no-reboot", "-display", "none", "-m", "256M",
               "-serial", "stdio", "-kernel", str(kernel.image),
               "-initrd", str(kernel.initramfs()),
               "-append", f"console={board.console} panic=-1 lab.trial"]
    try:
        trial = subprocess.run(command, capture_output=True, text=True, errors="replace",
                               timeout=TRIAL_SECONDS, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return False
    return TRIAL_WORKED in trial.stdout
