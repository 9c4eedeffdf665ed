# SPDX-License-Identifier: GPL-2.0-only
"""What a bug report needs, without names of files or directories, and without data."""

import io
import json
import os
import platform
import re
import tarfile
import time
from pathlib import Path
from typing import Iterator

from . import machine, status
from .errors import Failure
from .records import Record, as_json

# Of what root's report has, the kernel shows others only a part.
MODE = 0o600
SYSCTLS = ("/proc/sys/sunrpc", "/proc/sys/sunrpc/svc_rdma")
PROGRAMS = {"rdma-dev": ("rdma", "-d", "dev"), "rdma-link": ("rdma", "-d", "link"),
            "rdma-resource": ("rdma", "resource", "show"), "rdma-qp": ("rdma", "-d", "resource", "show", "qp")}


def contents() -> Iterator[tuple[str, str]]:
    """Names and texts."""
    try:
        yield "status.json", json.dumps(shown(status.gather()), indent=2, default=as_json)
    except Failure as failure:
        yield "status", str(failure)
    yield "uname", " ".join(platform.uname()._replace(node=""))
    yield "mountstats", "\n".join(re.findall(r"^\s*xprt:\s+rdma .*", machine.mountstats(), re.M))
    yield "sysctls", "\n".join(f"{path} = {value}" for path, value in sysctls())
    log = machine.output_of("dmesg")
    yield "log", "\n".join(line for line in (log or "dmesg: not permitted").splitlines()
                           if "rpcordma" in line or "not permitted" in line)
    for name, command in PROGRAMS.items():
        yield name, machine.output_of(*command) or f"{' '.join(command)}: failed"


def shown(found: Record) -> Record:
    """What "status" says, but for where something is mounted: that is the name of a directory."""
    mounts = [{"connections": mount["connections"]} for mount in found["mounts"]]
    return {**found, "mounts": mounts, "warnings": list(status.warnings(found))}


def sysctls() -> Iterator[tuple[str, str]]:
    """Those of RPC over RDMA, of both roles."""
    for path in sorted(path for top in map(Path, SYSCTLS) if top.is_dir() for path in top.iterdir()):
        if path.is_file() and ("rdma" in path.name or path.parent.name == "svc_rdma"):
            try:
                yield str(path), path.read_text(encoding="utf-8").strip()
            except OSError as error:
                yield str(path), str(error.strerror)


def write(path: Path) -> None:
    """Makes the tarball, when everything is known that it gets."""
    texts = list(contents())
    with open(path, "xb", opener=own) as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, text in texts:
            data = (text.rstrip("\n") + "\n").encode()
            member = tarfile.TarInfo(f"{directory(path)}/{name}")
            member.size, member.mtime, member.mode = len(data), int(time.time()), MODE
            archive.addfile(member, io.BytesIO(data))


def own(path: str, flags: int) -> int:
    """Opens a file that nobody else reads."""
    return os.open(path, flags, MODE)


def directory(path: Path) -> str:
    """That of the members. It is not called as the tarball, beside which it will be unpacked."""
    name = path.name.removesuffix(".tar.gz").lstrip(".")
    return name if name not in ("", path.name) else "report"
