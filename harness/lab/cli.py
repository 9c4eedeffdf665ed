# SPDX-License-Identifier: GPL-2.0-only
"""scripts/vm: one command, or a shell, in a virtual machine."""

import argparse
import shlex
import shutil
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.errors import LabError, LabTimeout
from lab.guest import Guest, Hardware
from lab.kernel import Kernel
from lab.module import build_module
from lab.nfs import OURS, STOCK
from lab.pair import Pair
from lab.paths import CHECKOUT, LOGS

# What timeout(1) says, too.
STATUS_TIMEOUT = 124
STATUS_LAB_ERROR = 125
VERSIONS = ("3", "4.0", "4.1", "4.2")
EXPORTS = ("tmpfs", "ext4", "xfs")
SHELL_SECONDS = 7 * 24 * 3600


def main() -> int:
    """Takes the command line apart."""
    parser = argparse.ArgumentParser(
        prog="vm", description="Boots stock Debian kernels with this machine's root, read-only.")
    actions = parser.add_subparsers(dest="action", required=True)

    run = actions.add_parser("run", help="run one command, and hand back its exit status")
    run.add_argument("--kernel", default="6.12", help="such as 6.1, 7.3 or 6.12-arm64 (default: 6.12)")
    run.add_argument("--timeout", type=float, default=600, help="seconds for the command")
    run.add_argument("--memory", default="1G")
    run.add_argument("--logs", type=Path, help="directory for the console and kernel logs")
    run.add_argument("command", nargs="+", metavar="COMMAND",
                     help="a single word goes to the shell as it is")
    run.set_defaults(act=run_command)

    shell = actions.add_parser("shell", help="a shell in an NFS client or its server, both of which are booted")
    shell.add_argument("--at", choices=["client", "server"], default="client",
                       help="where the shell is (default: client)")
    shell.add_argument("--kernel", default="6.12", help="of the client (default: 6.12)")
    shell.add_argument("--server-kernel", default="6.12", help="of the server (default: 6.12)")
    shell.add_argument("--transport", choices=[OURS, STOCK], default=OURS,
                       help=f"of the client: our module, or the kernel's own (default: {OURS})")
    shell.add_argument("--server-transport", choices=[OURS, STOCK], default=OURS, help="of the server")
    shell.add_argument("--memory", default="1536M", help="of each of the two (default: 1536M)")
    shell.add_argument("--mount", choices=VERSIONS, metavar="VERSION",
                       help=f"have an export mounted at /mnt, with this version of NFS: {', '.join(VERSIONS)}")
    shell.add_argument("--export", choices=EXPORTS, default=EXPORTS[0],
                       help=f"the export that is mounted (default: {EXPORTS[0]})")
    shell.set_defaults(act=interactive_shell)

    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return arguments.act(arguments)
    except (LabError, FileNotFoundError) as error:
        print(f"vm: {error}", file=sys.stderr)
        return STATUS_LAB_ERROR


def run_command(arguments: argparse.Namespace) -> int:
    """Boots one guest for one command."""
    logs = arguments.logs or new_log_directory("run")
    print(f"vm: Linux {arguments.kernel}; logs in {logs}", file=sys.stderr)
    guest = Guest("guest", Kernel.find(arguments.kernel), logs, Hardware(memory=arguments.memory))
    words = arguments.command
    command = words[0] if len(words) == 1 else shlex.join(words)
    guest.start()
    try:
        guest.wait_until_ready()
        process = guest.spawn(f"cd {shlex.quote(str(CHECKOUT))} && {command}")
        result = process.wait(arguments.timeout, lambda text: print(text, end="", flush=True))
        for complaint in guest.complaints():
            print(f"vm: the kernel says: {complaint}", file=sys.stderr)
        return result.status
    except LabTimeout as late:
        print(f"vm: {late}", file=sys.stderr)
        return STATUS_TIMEOUT
    finally:
        guest.shut_down()


def interactive_shell(arguments: argparse.Namespace) -> int:
    """Boots a pair, and gives the terminal to one of the two."""
    logs = new_log_directory("shell")
    client, server = Kernel.find(arguments.kernel), Kernel.find(arguments.server_kernel)
    for kernel, transport in ((client, arguments.transport), (server, arguments.server_transport)):
        if transport == OURS:
            build_module(kernel)
    print("vm: booting a server and a client; leave with exit or Ctrl-D", flush=True)
    with Pair(server, client, logs, arguments.transport, arguments.server_transport, arguments.memory,
              terminal=arguments.at) as pair:
        if arguments.mount:
            pair.mount(arguments.mount, export=arguments.export)
        print(greeting(pair, arguments), flush=True)
        with raw_terminal():
            guest = pair.client if arguments.at == "client" else pair.server
            console = guest.board.console
            columns, lines = shutil.get_terminal_size()
            shell = guest.spawn(f"cd {shlex.quote(str(CHECKOUT))}; export TERM=linux; "
                                f"stty -F /dev/{console} sane cols {columns} rows {lines}; "
                                f"exec setsid --ctty --wait bash -i </dev/{console} >/dev/{console} 2>&1")
            guest.wait_for(lambda: shell.status is not None, SHELL_SECONDS, "the end of the shell")
    return 0


def greeting(pair: Pair, arguments: argparse.Namespace) -> str:
    """What there is, for whoever gets the shell."""
    there = (f"vm: this is the {arguments.at}; the client is {pair.CLIENT_ADDRESS} and has {pair.client_module}, "
             f"the server is {pair.SERVER_ADDRESS} and has {pair.server_module}.")
    if arguments.mount:
        return f"{there} The client has the server's /{arguments.export} at /mnt, over NFS {arguments.mount}."
    return (f"{there} To mount /tmpfs, /ext4 or /xfs in the client:\n"
            f"      mount -t nfs -o vers=4.2,proto=rdma,port=20049 {pair.SERVER_ADDRESS}:/tmpfs /mnt")


@contextmanager
def raw_terminal() -> Iterator[None]:
    """While it lasts, every key goes to the guest as it is."""
    if not sys.stdin.isatty():
        yield
        return
    saved = termios.tcgetattr(sys.stdin)
    tty.setraw(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, saved)


def new_log_directory(kind: str) -> Path:
    """A directory for the logs of one run of the lab."""
    directory = LOGS / f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}"
    directory.mkdir(parents=True, exist_ok=True)
    return directory
