# SPDX-License-Identifier: GPL-2.0-only
"""What the test kernel's detectors say only when they are asked."""

from lab.guest import Guest

KMEMLEAK = "/sys/kernel/debug/kmemleak"
DMA_ERRORS = "/sys/kernel/debug/dma-api/error_count"
SCAN_SECONDS = 300


def forget_leaks(guest: Guest) -> None:
    """Has kmemleak speak of what is allocated from here on only."""
    guest.run(f"[ ! -e {KMEMLEAK} ] || echo clear >{KMEMLEAK}", timeout=SCAN_SECONDS)


def leaks(guest: Guest) -> list[str]:
    """Two scans: the first sees contents for the first time, and takes them for changed."""
    guest.run(f"for i in 1 2; do echo scan >{KMEMLEAK}; done", timeout=SCAN_SECONDS)
    return guest.read(KMEMLEAK).splitlines()


def dma_errors(guest: Guest) -> list[str]:
    """What DMA-API debugging counted; it prints the first of them only."""
    count = int(guest.read(DMA_ERRORS))
    return [f"{count} errors, see {guest.kernel_log_file}"] if count else []
