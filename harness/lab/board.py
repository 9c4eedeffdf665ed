# SPDX-License-Identifier: GPL-2.0-only
"""What virtual machines of an architecture have in common: QEMU's program, the emulated processor, the console."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Board:
    """The machine around a guest's kernel."""

    qemu: str
    machine: list[str]
    # QEMU's options for processors that it emulates.
    tcg: list[str]
    console: str
    # What the kernel has to be told on these.
    kernel_options: list[str]
    # The emulated processor of the benchmark, and what has a kernel spend instructions where it has nothing to do.
    counted_processor: str
    busy_idle: str
    # The modules of harness/guest without which a guest does not survive on emulated processors; its other processors
    # are switched on when they are loaded.
    survives_by: tuple[str, ...] = ()


BOARDS = {
    "amd64": Board(
        "qemu-system-x86_64", [],
        # Without what kernels prefer on real processors and takes longest where it is emulated: string moves byte by
        # byte, and carry-less products for CRCs. NFS over soft-RoCE takes a fifth less time. Without CMPXCHG16B because
        # QEMU 7.2 computes the flags that it leaves from those of an older instruction: an interrupt straight after it
        # then finds, say, virtual 8086 mode set, which is a double fault ("EFLAGS" in the log with bits that no
        # processor has).
        ["-accel", "tcg,thread=multi", "-cpu", "max,-erms,-fsrm,-pclmulqdq,-cx16"],
        "ttyS0",
        [
            # On a busy host the interrupts that the check counts come too late, and it gives up.
            "no_timer_check",
            # There the watchdog of the clock distrusts it, for nothing.
            "tsc=reliable",
            # Until the module is loaded a second processor that changes code would kill another.
            "maxcpus=1"],
        "max", "idle=poll",
        ("stale-breakpoint",)),
    "arm64": Board(
        "qemu-system-aarch64", ["-M", "virt"],
        # The architecture's own algorithm for pointer authentication takes most of an emulated processor's time.
        ["-accel", "tcg,thread=multi", "-cpu", "max,pauth-impdef=on"],
        "ttyAMA0",
        [],
        "max,pauth-impdef=on", "nohlt"),
}
