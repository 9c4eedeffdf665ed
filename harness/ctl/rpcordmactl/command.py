# SPDX-License-Identifier: GPL-2.0-only
"""The command line."""

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, Callable

from . import colours, connections, family, latency, metrics, report, status
from .errors import FAILED, Failure
from .records import Record, as_json, remote_of

# Of what -j prints. It grows when a name or a meaning changes, not when one is added.
FORMAT = 1

DESCRIPTION = "Shows what the module rpcordma does: NFS over RDMA, as client (requester) and as server (responder)."
EPILOG = """exit status: 0 done, 1 failed, 2 wrong command line, 3 the module is not loaded, 4 not permitted.
"rpcctl xprt" (nfs-utils) disconnects and changes addresses; "rdma resource show qp" shows the queue pair of a LQPN."""


def print_json(options: argparse.Namespace, **values: Any) -> None:
    """One object, on a line of its own unless it is to be pretty and the only one."""
    print(json.dumps({"format": FORMAT, **values}, indent=2 if options.pretty else None, default=as_json), flush=True)


def show(options: argparse.Namespace, text: str) -> None:
    """For people."""
    print(colours.painted(text) if colours.are_wanted(options.color) else text, flush=True)


def chosen(records: list[Record], number: int | None) -> list[Record]:
    """All of them, or that with the id."""
    if number is None:
        return records
    found = [record for record in records if record["id"] == number]
    if not found:
        raise Failure(f"there is no connection {number}: rpcordmactl connections lists them")
    return found


def show_status(options: argparse.Namespace) -> None:
    """rpcordmactl status"""
    found = status.gather()
    if options.json:
        print_json(options, **found, warnings=list(status.warnings(found)))
    else:
        show(options, status.text(found))


def show_connections(options: argparse.Namespace) -> None:
    """rpcordmactl connections"""
    if options.show and options.id is None:
        options.error("show takes the ID of a connection")
    if options.show and options.statistics:
        options.error("show has the statistics without --statistics")
    if options.watch is None:
        return look_at_connections(options)
    options.pretty = False
    while True:
        if sys.stdout.isatty() and not options.json:
            print("\033[H\033[2J", end="")
        look_at_connections(options)
        time.sleep(options.watch)


def look_at_connections(options: argparse.Namespace) -> None:
    """Once."""
    found = chosen(family.dump("connection"), options.id)
    if options.id is None:
        if options.json:
            print_json(options, connections=found)
        else:
            show(options, connections.overview(found, options.statistics))
        return
    own = [record for record in family.dump("disconnect") if record["connection"] == options.id]
    if options.json:
        print_json(options, connections=found, disconnects=own)
    else:
        show(options, connections.details(found[0], own))


def show_disconnects(options: argparse.Namespace) -> None:
    """rpcordmactl disconnects"""
    found = family.dump("disconnect")
    if options.json:
        print_json(options, disconnects=found)
    else:
        show(options, connections.disconnected(found))


def show_latency(options: argparse.Namespace) -> None:
    """rpcordmactl latency"""
    found = chosen(family.dump("connection"), options.id)
    if options.json:
        return print_json(options, latencies=[latency.summary(connection) for connection in found])
    if not found:
        show(options, "no connection")
    for connection in found:
        text = "\n".join(filter(None, (latency.one_line(connection), latency.drawn(connection))))
        show(options, f"connection {connection['id']}, {connection['role']}, {remote_of(connection)}: {text}")


def monitor(options: argparse.Namespace) -> None:
    """rpcordmactl monitor"""
    is_listening = options.pretty = False
    for event in family.events():
        now = time.time()
        if not event:
            said = "some events were lost" if is_listening else "listening"
            print(f"rpcordmactl: {said}", file=sys.stderr, flush=True)
            is_listening = True
        elif options.json:
            print_json(options, time=now, **event)
        else:
            clock = f"{time.strftime('%H:%M:%S', time.localtime(now))}.{int(now * 1000) % 1000:03}"
            show(options, f"{clock}  {connections.event(event)}")


def show_metrics(options: argparse.Namespace) -> None:
    """rpcordmactl metrics"""
    module, listeners, found = family.module(), family.dump("listener"), family.dump("connection")
    if options.json:
        print_json(options, module=module, listeners=listeners, connections=found)
    else:
        print(metrics.text(metrics.Collector(module, listeners, found), options.prometheus), end="")


def write_report(options: argparse.Namespace) -> None:
    """rpcordmactl report"""
    path = options.file or Path(time.strftime("rpcordma-report-%Y%m%d-%H%M%S.tar.gz"))
    try:
        report.write(path)
    except OSError as error:
        raise Failure(f"{error.filename or path}: {error.strerror}") from error
    if options.json:
        print_json(options, report=str(path))
    else:
        print(f"{path}: look at it before you send it; it has addresses, but no names of files and no data")


def interval(text: str) -> float:
    """Seconds of --watch."""
    seconds = float(text)
    if not 0.1 <= seconds <= 86400:
        raise argparse.ArgumentTypeError("it takes 0.1 to 86400 seconds")
    return seconds


def parser() -> argparse.ArgumentParser:
    """What may be on the command line. Common options stand before the command or behind it."""
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("-j", "--json", action="store_true", help="print JSON")
    common.add_argument("-p", "--pretty", action="store_true", help="with -j: indent it")
    common.add_argument("--color", choices=("auto", "always", "never"), metavar="WHEN",
                        help="auto, always, or never: colours; auto, which is usual, has them on terminals alone")
    whole = argparse.ArgumentParser(prog="rpcordmactl", description=DESCRIPTION, epilog=EPILOG, parents=[common],
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = whole.add_subparsers(metavar="command", required=True)

    def add(name: str, action: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text, parents=[common])
        command.set_defaults(action=action, error=command.error)
        return command

    add("status", show_status, "module, kernels, devices, listeners, connections, mounts, and what is wrong with them")
    command = add("connections", show_connections, "the connections of both roles")
    command.add_argument("show", nargs="?", choices=["show"], help=argparse.SUPPRESS)
    command.add_argument("id", nargs="?", type=int, metavar="show ID", help="all of this connection")
    command.add_argument("-s", "--statistics", action="store_true", help="what each has counted")
    command.add_argument("-w", "--watch", nargs="?", type=interval, const=2.0, metavar="SECONDS",
                         help="look again every so many seconds (2)")
    add("disconnects", show_disconnects, "the latest disconnects, and why")
    add("monitor", monitor,
        "what happens from now on: connected, disconnected, refused messages, listeners lost and back")
    command = add("latency", show_latency,
                  "how long Calls have taken to be answered: percentiles and a histogram")
    command.add_argument("id", nargs="?", type=int, metavar="ID", help="of this connection alone")
    command = add("metrics", show_metrics, "OpenMetrics text, for monitoring")
    command.add_argument("--prometheus", action="store_true",
                         help="the text format of Prometheus instead, for node_exporter's textfile collector")
    command = add("report", write_report, "writes a tarball for a bug report, without names of files and without data")
    command.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a new file (rpcordma-report-TIME.tar.gz)")
    return whole


def main() -> int:
    """Returns the exit status."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    options = parser().parse_args()
    for name, usual in (("json", False), ("pretty", False), ("color", "auto")):
        setattr(options, name, getattr(options, name, usual))
    try:
        options.action(options)
        sys.stdout.flush()
    except Failure as failure:
        print(f"rpcordmactl: {failure}", file=sys.stderr)
        return failure.status
    except OSError as error:
        print(f"rpcordmactl: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        give_up_output()
        return FAILED
    return 0


def give_up_output() -> None:
    """What could not be written would be tried again at the end, and end the program with a status of Python's."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
