# SPDX-License-Identifier: GPL-2.0-only
"""The records of the netlink family, as values of Python: a dict with the names of uapi/rpcordma.yaml."""

import ipaddress
import socket
import struct
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from .description import ATTRIBUTES, WORDS

Record = dict[str, Any]

# linux/netlink.h: the other bits say how the value is encoded.
NLA_TYPE_MASK = 0x3fff
# A latency's first interval ends at 1024 ns, each that follows at twice the end of the one before it.
FINEST_BITS = 10


@dataclass(frozen=True)
class Address:
    """Of a peer, or of this machine."""

    address: str
    port: int

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


def remote_of(record: Record) -> Address | str:
    """The peer's address. There is none where a wrong one was written to dstaddr."""
    remote: Address | str = record.get("remote", "-")
    return remote


def address_of(data: bytes) -> Address:
    """What a struct sockaddr_in or sockaddr_in6 says."""
    family, = struct.unpack_from("=H", data)
    port, = struct.unpack_from("!H", data, 2)
    if family == socket.AF_INET:
        return Address(str(ipaddress.IPv4Address(data[4:8])), port)
    scope, = struct.unpack_from("=I", data, 24)
    address = str(ipaddress.IPv6Address(data[8:24]))
    return Address(f"{address}%{interface_name(scope)}" if scope else address, port)


def interface_name(index: int) -> str:
    """Its number, where it is gone."""
    try:
        return socket.if_indextoname(index)
    except OSError:
        return str(index)


def value_of(name: str, kind: str, value: Any) -> Any:
    """An attribute's value. What a newer module says stays a number."""
    if kind in WORDS:
        words = WORDS[kind]
        return words[value] if value < len(words) else str(value)
    if kind != "binary":
        return value
    return list(struct.unpack(f"={len(value) // 8}Q", value)) if name == "latency" else address_of(value)


def attributes_in(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Numbers and values, as netlink has them in messages and in nests."""
    while len(data) >= 4:
        size, number = struct.unpack_from("=HH", data)
        yield number & NLA_TYPE_MASK, data[4:size]
        data = data[size + 3 & ~3:]


def tallied(data: bytes) -> tuple[str, int]:
    """A name, and how often that has happened: the attributes of a "tally". A newer module may have more of them."""
    names = dict(enumerate(ATTRIBUTES["tally"], 1))
    found = {names[number]: value for number, value in attributes_in(data) if number in names}
    count, = struct.unpack("=Q", found["count"])
    return found["name"].rstrip(b"\0").decode(), count


def record_of(kind: str, attributes: Iterable[tuple[str, Any]]) -> Record:
    """The record of a message's attributes: those that this program knows.

    A tally has an attribute for each of its names.
    """
    kinds = ATTRIBUTES[kind]
    record: Record = {}
    for name, value in attributes:
        if kinds.get(name, "pad") == "pad":
            continue
        key = name.replace("-", "_")
        if kinds[name] == "nest":
            counted, count = tallied(value)
            record.setdefault(key, {})[counted] = count
        else:
            record[key] = value_of(name, kinds[name], value)
    return record


def as_json(value: Any) -> Any:
    """For json.dumps(): what it does not know."""
    if isinstance(value, Address):
        return asdict(value)
    raise TypeError(type(value).__name__)


def limits(count: int) -> list[int | None]:
    """The ends of a latency's intervals, in nanoseconds. The last one has none."""
    return [*(1 << FINEST_BITS + number for number in range(count - 1)), None]
