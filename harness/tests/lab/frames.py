# SPDX-License-Identifier: GPL-2.0-only
"""Captures made by hand: frames of RoCEv2, and the messages of RPC-over-RDMA in them."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from capture import Segment

CLIENT, SERVER = "192.0.2.1", "192.0.2.2"
QUEUE_PAIRS = {CLIENT: 0x11, SERVER: 0x12}

# Opcodes of a reliable connection.
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY, RDMA_WRITE_ONLY = 0, 1, 2, 4, 10
SEND_LAST_WITH_INVALIDATE, SEND_ONLY_WITH_INVALIDATE = 22, 23

ROCE_PORT, ETHERTYPE_IPV4, UDP = 4791, 0x0800, 17
# Of a RETH: address, key and length of what is written.
RETH = struct.pack(">QII", 0x1000, 0x77, 64)


@dataclass(frozen=True)
class Packet:
    """What one side sends the other in a frame."""

    payload: bytes
    sender: str = CLIENT
    opcode: int = SEND_ONLY
    psn: int | None = None
    # A header between the base transport header and the payload.
    extended: bytes = b""


def words(*values: int) -> bytes:
    """Numbers of 32 bits."""
    return struct.pack(f">{len(values)}I", *values)


def frame(packet: Packet, psn: int) -> bytes:
    """Ethernet, IPv4, UDP, InfiniBand."""
    receiver = SERVER if packet.sender == CLIENT else CLIENT
    padding = -len(packet.payload) % 4
    infiniband = (struct.pack(">BBHII", packet.opcode, padding << 4, 0xffff, QUEUE_PAIRS[receiver], psn)
                  + packet.extended + packet.payload + bytes(padding) + b"\xcc" * 4)
    udp = struct.pack(">HHHH", 49152, ROCE_PORT, 8 + len(infiniband), 0) + infiniband
    addresses = bytes(int(part) for address in (packet.sender, receiver) for part in address.split("."))
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, UDP, 0) + addresses
    return bytes.fromhex("020000000002 020000000001") + struct.pack(">H", ETHERTYPE_IPV4) + ip + udp


def write_capture(to: Path, packets: Iterable[Packet]) -> Path:
    """A file for tshark, with a packet a second. Packets without a number of their own are numbered."""
    with to.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 0x40000, 1))
        for second, packet in enumerate(packets):
            whole = frame(packet, 1000 + second if packet.psn is None else packet.psn)
            file.write(struct.pack("<IIII", second, 0, len(whole), len(whole)) + whole)
    return to


# Messages. These encoders share nothing with the module's, nor with the peer's.

def fixed(xid: int, version: int, credits_named: int, kind: int) -> bytes:
    """The fields that every version has."""
    return words(xid, version, credits_named, kind)


def segment(of: Segment) -> bytes:
    """A segment of any chunk."""
    return struct.pack(">IIQ", of.handle, of.length, of.offset)


def chunk(segments: Iterable[Segment]) -> bytes:
    """A Write chunk, or the Reply chunk."""
    encoded = [segment(each) for each in segments]
    return words(len(encoded)) + b"".join(encoded)


def chunk_lists(reads: Iterable[tuple[int, Segment]] = (), writes: Iterable[Iterable[Segment]] = (),
                reply: Iterable[Segment] | None = None) -> bytes:
    """The Read list, the Write list and the Reply chunk."""
    return (b"".join(words(1, position) + segment(target) for position, target in reads) + words(0)
            + b"".join(words(1) + chunk(each) for each in writes) + words(0)
            + (words(0) if reply is None else words(1) + chunk(reply)))


def optional(direction: int, option: int, info: bytes) -> bytes:
    """What RDMA2_OPTIONAL has behind the fixed fields."""
    return words(direction, option, len(info)) + info + bytes(-len(info) % 4)


def nfs_null_call(xid: int, argument: bytes = b"") -> bytes:
    """A Call of NFS 3's NULL. Arguments do not belong there, and do no harm."""
    return words(xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0) + argument


def rpc_reply(xid: int, result: bytes = b"") -> bytes:
    """A Reply that says that all is well."""
    return words(xid, 1, 0, 0, 0, 0) + result
