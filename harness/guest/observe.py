# SPDX-License-Identifier: GPL-2.0-only
"""Reads the netlink family of the module, without the library that rpcordmactl uses.

    observe.py FILE...            prints all of its records, and files that were the same before and after, as JSON
    observe.py --until FILE       dumps the connections over and over until the file is there, and prints what came

Messages are received in parts of 8 KiB, which a few connections fit.
"""

import json
import socket
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "ctl"))

from rpcordmactl.description import ATTRIBUTES, COMMANDS  # noqa: E402
from rpcordmactl.records import as_json, attributes_in, record_of  # noqa: E402

# linux/netlink.h, linux/genetlink.h
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLM_F_REQUEST, NLM_F_DUMP = 1, 0x300
GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 16, 3, 1, 2
PART = 8192
ATTEMPTS = 50
FORMATS = {"u64": "=Q", "string": "", "binary": "", "nest": "", "pad": ""}


class Family:
    """A socket that knows the number of the family."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
        name = b"rpcordma\0"
        padded = struct.pack("=HH", 4 + len(name), CTRL_ATTR_FAMILY_NAME) + name + bytes(-len(name) % 4)
        answer, = self.ask(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0, padded)
        self.number, = struct.unpack("=H", dict(attributes_in(answer))[CTRL_ATTR_FAMILY_ID])
        self.parts = 0

    def ask(self, kind: int, command: int, flags: int, body: bytes = b"") -> list[bytes]:
        """The attributes of each message of the answer."""
        header = struct.pack("=IHHIIBBH", 20 + len(body), kind, NLM_F_REQUEST | flags, 1, 0, command, 1, 0)
        self.socket.send(header + body)
        answers = []
        self.parts = 0
        while True:
            part = self.socket.recv(PART)
            self.parts += 1
            while part:
                size, kind = struct.unpack_from("=IH", part)
                error, = struct.unpack_from("=i", part, 16)
                if kind == NLMSG_DONE:
                    return answers
                if kind == NLMSG_ERROR:
                    raise OSError(-error, "netlink")
                answers.append(part[20:size])
                part = part[size + 3 & ~3:]
            if not flags:
                return answers

    def records(self, kind: str) -> list[dict]:
        """All of a kind."""
        names = list(ATTRIBUTES[kind].items())
        flags = 0 if kind == "module" else NLM_F_DUMP
        return [record_of(kind, [value_of(*names[number - 1], value) for number, value in attributes_in(answer)])
                for answer in self.ask(self.number, COMMANDS[f"{kind}-get"], flags)]


def value_of(name: str, kind: str, value: bytes) -> tuple[str, object]:
    """As pyroute2 has it."""
    form = FORMATS.get(kind, "=I")
    if form:
        return name, struct.unpack(form, value)[0]
    return name, value.rstrip(b"\0").decode() if kind == "string" else value


def look(family: Family, files: list[str]) -> dict:
    """Everything, at a moment at which nothing happened."""
    for _ in range(ATTEMPTS):
        before = {file: Path(file).read_text() for file in files}
        found: dict = {kind: family.records(kind) for kind in ("module", "listener", "connection", "disconnect")}
        if before == {file: Path(file).read_text() for file in files}:
            return {**found, "files": before}
    sys.exit("something happened all the time")


def dump_until(family: Family, file: Path) -> dict:
    """Counts dumps, and the most connections and parts that one had."""
    dumps = most = parts = 0
    print("dumping", flush=True)
    while not file.exists():
        ids = [record["id"] for record in family.records("connection")]
        if ids != sorted(set(ids)):
            sys.exit(f"ids are not in order: {ids}")
        dumps, most, parts = dumps + 1, max(most, len(ids)), max(parts, family.parts)
    return {"dumps": dumps, "connections": most, "parts": parts}


def main() -> None:
    """Does what the command line says."""
    family = Family()
    if sys.argv[1:2] == ["--until"]:
        print(json.dumps(dump_until(family, Path(sys.argv[2]))))
    else:
        print(json.dumps(look(family, sys.argv[1:]), default=as_json))


if __name__ == "__main__":
    main()
