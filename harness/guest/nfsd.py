# SPDX-License-Identifier: GPL-2.0-only
"""Starts nfsd through its generic netlink interface, and says where it listens then.

    nfsd.py THREADS [TRANSPORT ADDRESS PORT]...

On Linux 7.x THREADS may be LEAST-MOST.
"""

import ipaddress
import socket
import struct
import sys

from pyroute2.netlink import NLA_F_NESTED, NLM_F_ACK, NLM_F_REQUEST, genlmsg, nla
from pyroute2.netlink.generic import GenericNetlinkSocket

# include/uapi/linux/nfsd_netlink.h
THREADS_SET, LISTENER_SET, LISTENER_GET = 2, 6, 7


class Listeners(genlmsg):
    """NFSD_CMD_LISTENER_SET and _GET."""

    nla_map = ((1, "LISTENER", "Listener"),)

    class Listener(nla):
        """A transport's name and a struct sockaddr."""

        nla_flags = NLA_F_NESTED
        nla_map = ((1, "ADDRESS", "cdata"), (2, "TRANSPORT", "asciiz"))


class Threads(genlmsg):
    """NFSD_CMD_THREADS_SET."""

    nla_map = ((1, "THREADS", "uint32"), (5, "MIN_THREADS", "uint32"))


def packed(address: str, port: int) -> bytes:
    """A struct sockaddr_in or sockaddr_in6."""
    parsed = ipaddress.ip_address(address)
    if parsed.version == 4:
        return struct.pack("=H2s4s8x", socket.AF_INET, port.to_bytes(2, "big"), parsed.packed)
    return struct.pack("=H2sI16sI", socket.AF_INET6, port.to_bytes(2, "big"), 0, parsed.packed, 0)


def unpacked(data: bytes) -> str:
    """Address and port of such a structure."""
    family, port = struct.unpack_from("=H2s", data)
    raw = data[4:8] if family == socket.AF_INET else data[8:24]
    return f"{ipaddress.ip_address(raw)} {int.from_bytes(port, 'big')}"


def main() -> None:
    """Does what the command line says."""
    threads, *words = sys.argv[1:]
    least, _, most = threads.rpartition("-")
    number = [("THREADS", int(most)), *([("MIN_THREADS", int(least))] if least else [])]
    wanted = [("LISTENER", {"attrs": [("ADDRESS", packed(address, int(port))),
                                      ("TRANSPORT", transport)]})
              for transport, address, port in zip(words[::3], words[1::3], words[2::3])]
    with GenericNetlinkSocket() as netlink:
        netlink.bind("nfsd", Listeners)
        request(netlink, Listeners, LISTENER_SET, wanted)
        request(netlink, Threads, THREADS_SET, number)
        for listener in request(netlink, Listeners, LISTENER_GET, []).get_attrs("LISTENER"):
            print(listener.get_attr("TRANSPORT"), unpacked(listener.get_attr("ADDRESS")))


def request(netlink: GenericNetlinkSocket, kind: type[genlmsg], command: int,
            attributes: list) -> genlmsg:
    """Sends one message, and returns the answer."""
    message = kind()
    message["cmd"], message["version"], message["attrs"] = command, 1, attributes
    flags = NLM_F_REQUEST | (0 if command == LISTENER_GET else NLM_F_ACK)
    return netlink.nlm_request(message, netlink.prid, flags)[0]


main()
