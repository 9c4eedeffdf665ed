# SPDX-License-Identifier: GPL-2.0-only
"""Clients that stop half-way through connection set-up: the server accepts, and they never say that they are ready.

    half-open.py ADDRESS PORT COUNT

Asks for COUNT connections, and says "N half open" with each that is. Holds them until it is killed.
"""

import ctypes
import os
import socket
import struct
import sys

PORT_SPACE_TCP = 0x0106
RESOLVE_MILLISECONDS = 10_000
ADDRESS_RESOLVED, ROUTE_RESOLVED, CONNECT_RESPONSE = 0, 2, 5


class ConnectionParameters(ctypes.Structure):
    """struct rdma_conn_param."""

    _fields_ = [("private_data", ctypes.c_void_p), ("private_data_len", ctypes.c_uint8),
                ("responder_resources", ctypes.c_uint8), ("initiator_depth", ctypes.c_uint8),
                ("flow_control", ctypes.c_uint8), ("retry_count", ctypes.c_uint8),
                ("rnr_retry_count", ctypes.c_uint8), ("srq", ctypes.c_uint8),
                ("qp_num", ctypes.c_uint32)]


class Event(ctypes.Structure):
    """The beginning of struct rdma_cm_event."""

    _fields_ = [("id", ctypes.c_void_p), ("listen_id", ctypes.c_void_p), ("event", ctypes.c_int),
                ("status", ctypes.c_int)]


rdmacm = ctypes.CDLL("librdmacm.so.1", use_errno=True)
rdmacm.rdma_create_event_channel.restype = ctypes.c_void_p


def call(name: str, *arguments: object) -> None:
    """Calls a function of librdmacm, which must not fail."""
    if getattr(rdmacm, name)(*arguments) != 0:
        sys.exit(f"{name}: {os.strerror(ctypes.get_errno())}")


def expect(channel: ctypes.c_void_p, wanted: int) -> None:
    """Waits for the next event, which has to be that one."""
    came, status = next_event(channel)
    if came != wanted:
        sys.exit(f"event {came} came, with status {status}, not {wanted}")


def next_event(channel: ctypes.c_void_p) -> tuple[int, int]:
    """Waits for an event, and returns which it is, and its status."""
    event = ctypes.POINTER(Event)()
    call("rdma_get_cm_event", channel, ctypes.byref(event))
    came, status = event.contents.event, event.contents.status
    call("rdma_ack_cm_event", event)
    return came, status


def find(channel: ctypes.c_void_p, address: bytes) -> ctypes.c_void_p:
    """An identifier that knows the way."""
    identifier = ctypes.c_void_p()
    call("rdma_create_id", channel, ctypes.byref(identifier), None, PORT_SPACE_TCP)
    call("rdma_resolve_addr", identifier, None, address, RESOLVE_MILLISECONDS)
    expect(channel, ADDRESS_RESOLVED)
    call("rdma_resolve_route", identifier, RESOLVE_MILLISECONDS)
    expect(channel, ROUTE_RESOLVED)
    return identifier


def ask(identifier: ctypes.c_void_p, number: int) -> None:
    """Asks for a connection. Without a queue pair librdmacm leaves the rest to us: nothing is done."""
    parameters = ConnectionParameters(responder_resources=1, initiator_depth=1, retry_count=7, rnr_retry_count=7,
                                      qp_num=0x10000 + number)
    call("rdma_connect", identifier, ctypes.byref(parameters))


def main() -> None:
    """Asks for all, and says what comes of them."""
    host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    address = struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(host) + bytes(8)
    channel = ctypes.c_void_p(rdmacm.rdma_create_event_channel())
    if not channel:
        sys.exit(f"rdma_create_event_channel: {os.strerror(ctypes.get_errno())}")
    identifiers = [find(channel, address) for _ in range(count)]
    for number, identifier in enumerate(identifiers):
        ask(identifier, number)
    half_open = 0
    while True:
        if next_event(channel)[0] == CONNECT_RESPONSE:
            half_open += 1
            print(f"{half_open} half open", flush=True)


if __name__ == "__main__":
    main()
