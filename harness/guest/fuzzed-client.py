#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a client does for "rpcordma-peer fuzz --listen": mounts, works, several things at a time, and unmounts.

    fuzzed-client.py SERVER PORT MOUNT-PORT
    fuzzed-client.py stop                    unmounts what those have left that were killed

Replies may be wrong, so nothing of it has to work; all of it has to end. By NFS 3, which has no state: after changed
Replies about its session, the kernel's client of NFS 4.1 waits for minutes without sending anything, whatever carries
its Calls.
"""

import glob
import mmap
import os
import subprocess
import sys
from collections.abc import Callable

WORKERS = 4
ROUNDS = 10
MOUNTS = "/run/fuzzed-"
# What one mount may take: its Replies may be wrong, too.
MOUNT_SECONDS = 60
OPTIONS = "vers=3,proto=rdma,mountproto=tcp,nolock,soft,timeo=10,retrans=1,noac"


def read_directly(path: str, size: int) -> None:
    """Reads a file's beginning past the cache, into chunks."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        os.preadv(file, [mmap.mmap(-1, size)], 0)
    finally:
        os.close(file)


def write_directly(path: str, size: int, offset: int) -> None:
    """Writes past the cache, from chunks."""
    file = os.open(path, os.O_WRONLY | os.O_DIRECT)
    try:
        os.pwritev(file, [mmap.mmap(-1, size)], offset)
    finally:
        os.close(file)


def steps(mount: str, worker: int, number: int) -> list[Callable[[], object]]:
    """What a worker does in a round."""
    made = f"{mount}/made-{worker}-"
    return [lambda: read_directly(f"{mount}/data", 64 << 10),
            lambda: write_directly(f"{mount}/scratch", 32 << 10, worker * (32 << 10)),
            lambda: os.listdir(f"{mount}/many"),
            lambda: os.stat(f"{mount}/many/a-name-of-some-length-{worker}{number}"),
            lambda: os.readlink(f"{mount}/link"),
            lambda: os.close(os.open(f"{made}{number}", os.O_CREAT | os.O_WRONLY, 0o644)),
            lambda: os.rename(f"{made}{number}", f"{made}renamed"),
            lambda: os.unlink(f"{made}renamed")]


def work(mount: str, worker: int) -> None:
    """All rounds of a worker, whatever becomes of them."""
    for number in range(ROUNDS):
        for step in steps(mount, worker, number):
            try:
                step()
            except OSError:
                pass


def work_together(mount: str) -> None:
    """All workers, each in a process of its own, as a thread would wait for Python's lock."""
    for worker in range(WORKERS):
        if os.fork() == 0:
            try:
                work(mount, worker)
            finally:
                os._exit(0)
    for _ in range(WORKERS):
        os.wait()


def unmount(mount: str) -> None:
    """By force, and if that does not work, from what can be seen."""
    quietly = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if subprocess.run(["umount", "-f", mount], check=False, **quietly).returncode != 0:
        subprocess.run(["umount", "-l", mount], check=False, **quietly)


def stop() -> int:
    """Nothing is mounted any more, nor will be."""
    # "timeout" has a process group of its own.
    while subprocess.run(["pkill", "-KILL", "^mount"], check=False).returncode == 0:
        subprocess.run(["timeout", "1", "pidwait", "^mount"], check=False)
    for mount in glob.glob(f"{MOUNTS}*"):
        unmount(mount)
    with open("/proc/mounts", encoding="ascii") as mounts:
        return int(MOUNTS in mounts.read())


def main(words: list[str]) -> int:
    """Returns the exit status."""
    if words == ["stop"]:
        return stop()
    server, port, mount_port = words
    mount = f"{MOUNTS}{port}"
    os.makedirs(mount, exist_ok=True)
    mounted = subprocess.run(["timeout", "-k", "10", str(MOUNT_SECONDS), "mount", "-t", "nfs", "-o",
                              f"{OPTIONS},port={port},mountport={mount_port}", f"{server}:/", mount],
                             stderr=subprocess.DEVNULL, check=False)
    if mounted.returncode == 0:
        try:
            work_together(mount)
        finally:
            unmount(mount)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
