# SPDX-License-Identifier: GPL-2.0-only
"""The lab: virtual machines with stock Debian kernels, joined by soft-RoCE."""

from lab.errors import CommandFailed, GuestDied, LabTimeout, WrongClock
from lab.guest import Guest, Hardware, Process, Result
from lab.kernel import Kernel
from lab.nfs import Mount
from lab.pair import Pair
from lab.solo import Solo

__all__ = ["CommandFailed", "Guest", "GuestDied", "Hardware", "Kernel", "LabTimeout", "Mount", "Pair",
           "Process", "Result", "Solo", "WrongClock"]
