# SPDX-License-Identifier: GPL-2.0-only
"""What goes wrong, and the exit statuses that scripts may rely on."""

FAILED, USAGE, NOT_LOADED, NOT_PERMITTED = 1, 2, 3, 4


class Failure(Exception):
    """Ends the program with a status. Its text names the cause and the cure."""

    status = FAILED


class NotLoaded(Failure):
    """The module is not there."""

    status = NOT_LOADED

    def __init__(self) -> None:
        super().__init__("the module rpcordma is not loaded: modprobe rpcordma ("
                         "and rmmod rpcrdma before, if the in-tree module is loaded)")


class Unloaded(Failure):
    """The module was there."""

    status = NOT_LOADED

    def __init__(self) -> None:
        super().__init__("the module rpcordma was unloaded: start this again when it is loaded")


class NotPermitted(Failure):
    """The kernel wants CAP_NET_ADMIN."""

    status = NOT_PERMITTED

    def __init__(self) -> None:
        super().__init__("this takes CAP_NET_ADMIN in the network namespace: run it as root")
