# SPDX-License-Identifier: GPL-2.0-only
"""The netlink family of the module: what it is asked, and what it tells."""

import errno
from typing import Any, Iterator

from pyroute2.netlink import CTRL_CMD_DELFAMILY, GENL_ID_CTRL, NLM_F_DUMP, NLM_F_REQUEST, genlmsg
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.generic import GenericNetlinkSocket

from .description import ATTRIBUTES, COMMANDS
from .errors import Failure, NotLoaded, NotPermitted, Unloaded
from .records import Record, record_of

NAME = "rpcordma"
# As pyroute2 calls them. The others are numbers with words.
TYPES = {"pad": "none", "string": "asciiz", "binary": "cdata", "nest": "cdata", "u64": "uint64"}


def message_class(kind: str) -> type[genlmsg]:
    """For messages with a record of that kind."""
    attributes = tuple((number, name, TYPES.get(type_, "uint32"))
                       for number, (name, type_) in enumerate(ATTRIBUTES[kind].items(), 1))
    return type(kind, (genlmsg,), {"nla_map": attributes})


def failure_of(error: OSError | NetlinkError) -> Failure:
    """What an error means to who runs the program."""
    code = error.code if isinstance(error, NetlinkError) else error.errno
    if code == errno.ENOENT:
        return NotLoaded()
    if code in (errno.EPERM, errno.EACCES):
        return NotPermitted()
    return Failure(f"the kernel does not answer: {error}")


class Family:
    """A socket for records of one kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        try:
            self.socket = GenericNetlinkSocket()
            self.socket.module_err_level = "debug"
            self.socket.bind(NAME, message_class(kind))
        except (OSError, NetlinkError) as error:
            raise failure_of(error) from error

    def __enter__(self) -> "Family":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self, flags: int) -> list[Record]:
        """All that the kernel answers."""
        request = message_class(self.kind)()
        request["cmd"] = COMMANDS[f"{self.kind}-get"]
        request["version"] = 1
        try:
            return [self.record(answer) for answer in self.socket.nlm_request(
                request, msg_type=self.socket.prid, msg_flags=NLM_F_REQUEST | flags)]
        except (OSError, NetlinkError) as error:
            raise failure_of(error) from error

    def listen(self) -> None:
        """To events, and to what nlctrl says of the families of modules that go."""
        try:
            groups = self.socket.discovery("nlctrl").get_attr("CTRL_ATTR_MCAST_GROUPS")
            self.socket.mcast_groups.update({group.get_attr("CTRL_ATTR_MCAST_GRP_NAME"):
                                             group.get_attr("CTRL_ATTR_MCAST_GRP_ID") for group in groups})
            for name in ("notify", "events"):
                self.socket.add_membership(name)
        except (OSError, NetlinkError) as error:
            raise failure_of(error) from error

    def heard(self) -> Iterator[Record]:
        """Events, until some were lost."""
        while True:
            try:
                messages = self.socket.get()
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise failure_of(error) from error
                return
            for message in messages:
                if message["header"]["type"] == self.socket.prid:
                    yield self.record(message)
                elif is_end(message):
                    raise Unloaded

    def expect_to_be_there(self) -> None:
        """With the number that this socket knows: a module that is loaded again gets another one."""
        try:
            with Family(self.kind) as now:
                number = now.socket.prid
        except NotLoaded as error:
            raise Unloaded from error
        if number != self.socket.prid:
            raise Unloaded

    def record(self, message: Any) -> Record:
        """What a message says."""
        return record_of(self.kind, message["attrs"])


def is_end(message: Any) -> bool:
    """Whether nlctrl says that the family is gone."""
    return (message["header"]["type"] == GENL_ID_CTRL and message["cmd"] == CTRL_CMD_DELFAMILY
            and message.get_attr("CTRL_ATTR_FAMILY_NAME") == NAME)


def module() -> Record:
    """The module, and what it is set to. Everybody may ask."""
    with Family("module") as family:
        return family.ask(0)[0]


def dump(kind: str) -> list[Record]:
    """All records of a kind: "listener", "connection" or "disconnect"."""
    with Family(kind) as family:
        return family.ask(NLM_F_DUMP)


def events() -> Iterator[Record]:
    """What happens from now on. Yields {} at first, when nothing is missed any more, and where events were lost."""
    with Family("event") as family:
        family.listen()
        while True:
            # The end of the family may have come before, or be what was lost.
            family.expect_to_be_there()
            yield {}
            yield from family.heard()
