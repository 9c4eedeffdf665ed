# SPDX-License-Identifier: GPL-2.0-only
"""What can go wrong in the lab."""


class LabError(Exception):
    """Something in the lab did not go as it should."""


class GuestDied(LabError):
    """The virtual machine ended while somebody waited for it."""


class LabTimeout(LabError):
    """What was waited for did not happen in time."""


class CommandFailed(LabError):
    """A command in a guest had another exit status than 0."""


class WrongClock(LabError):
    """A guest's clock does not go as the host's does."""
