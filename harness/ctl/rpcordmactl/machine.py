# SPDX-License-Identifier: GPL-2.0-only
"""What the machine says without the module: modules, kernels, devices, mounts."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

MODULE_DIRECTORIES = ("/lib/modules", "/usr/lib/modules")
MOUNTSTATS = Path("/proc/self/mountstats")


def is_loaded(module: str) -> bool:
    """Whether the kernel has it now."""
    return Path("/sys/module", module, "initstate").exists()


def kernels() -> dict[str, bool]:
    """The kernels that are installed, and whether each has the module."""
    found = {}
    for top in map(Path, MODULE_DIRECTORIES):
        for release in sorted(top.glob("*/modules.dep")) if top.is_dir() else ():
            found[release.parent.name] = has_module(release)
    return found


def has_module(index: Path) -> bool:
    """Whether modprobe would find rpcordma in the index of a kernel's modules."""
    return re.search(r"(^|/)rpcordma\.ko(\.\w+)?:", index.read_text(encoding="utf-8"), re.M) is not None


def output_of(*command: str) -> str | None:
    """What a program says; None where it is not there, or fails."""
    environment = {**os.environ, "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin", "LC_ALL": "C"}
    try:
        return subprocess.run(command, check=True, capture_output=True, encoding="utf-8", errors="backslashreplace",
                              timeout=10, env=environment).stdout
    except (OSError, subprocess.SubprocessError):
        return None


def rdma(*words: str) -> list[dict[str, Any]] | None:
    """What "rdma" of iproute2 lists; None where it does not answer."""
    said = output_of("rdma", "-j", *words)
    try:
        listed: list[dict[str, Any]] | None = None if said is None else json.loads(said or "[]")
    except ValueError:
        return None
    return listed


def devices() -> list[dict[str, Any]] | None:
    """The links of RDMA devices, as "rdma link" has them, and whether each device registers memory by work requests.

    None where they are not known.
    """
    links = rdma("link")
    if links is None:
        return None
    capabilities = {device["ifname"]: device.get("caps", []) for device in rdma("-d", "dev") or []}
    return [{"device": link["ifname"], "port": link.get("port", 1), "state": link.get("state", ""),
             "netdev": link.get("netdev", ""),
             "registers": "MEM_MGT_EXTENSIONS" in capabilities.get(link["ifname"], ["MEM_MGT_EXTENSIONS"])}
            for link in links]


def mountstats() -> str:
    """What sunrpc says of mounts. Names of directories need not be UTF-8."""
    return MOUNTSTATS.read_text(encoding="utf-8", errors="backslashreplace")


def mounts(stats: str) -> list[dict[str, Any]]:
    """The mounts over RDMA, and how many connections each has."""
    found: list[dict[str, Any]] = []
    for part in re.split(r"^(?=device )", stats, flags=re.M):
        mount = re.match(r"device (\S+) mounted on (\S+) with fstype nfs", part)
        connections = len(re.findall(r"^\s*xprt:\s+rdma ", part, re.M))
        if mount and connections:
            found.append({"device": mount[1], "path": mount[2], "connections": connections})
    return found
