# SPDX-License-Identifier: GPL-2.0-only
"""Asks an iWARP listener for connections, and goes away before it can accept them.

    mpa-requests.py ADDRESS PORT COUNT
"""

import socket
import sys

# Revision 1, neither markers nor CRC, no private data (RFC 5044, 7.1.1).
REQUEST = b"MPA ID Req Frame" + bytes((0, 1, 0, 0))


def main() -> None:
    """One after the other."""
    address, port, count = sys.argv[1:]
    for _ in range(int(count)):
        with socket.create_connection((address, int(port))) as connection:
            connection.sendall(REQUEST)


main()
