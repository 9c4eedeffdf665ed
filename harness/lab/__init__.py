# SPDX-License-Identifier: GPL-2.0-only
"""The lab: virtual machines with stock Debian kernels, joined by soft-RoCE."""

from lab.guest import CommandFailed, Guest, GuestDied, LabTimeout, Process, Result
from lab.kernel import Kernel
from lab.pair import Pair

__all__ = ["CommandFailed", "Guest", "GuestDied", "Kernel", "LabTimeout", "Pair", "Process",
           "Result"]
