# SPDX-License-Identifier: GPL-2.0-only
"""scripts/ordeal: the command line."""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lab import Kernel, Pair
from lab.errors import LabError
from lab.module import build_module
from lab.nfs import OURS, STOCK as IN_TREE
from lab.paths import LOGS
from lab.peer import build_peer
from ordeal import record as records
from ordeal import recorder
from ordeal.faults import KINDS, listed
from ordeal.run import ERRORS, Run, blocked_tasks, new_record, possible_kinds
from ordeal.schedule import (BOTH, ENDS, EXPORTS, FLAVOURS, KERNELS, NFS_VERSIONS, PROTOCOLS, SECURITIES, STOCK, TMPFS,
                             Cell)

# A run is short enough that what has been done is in the log before anything can be lost.
RUN_MINUTES = 8.0
PASSED, FAILED, COULD_NOT = 0, 1, 2
LAST_FAULTS = 5
EPILOG = """
Each run has a seed: the first that of --seed, each further one the next number. The seed chooses kernels, NFS version
and version of RPC-over-RDMA, Kerberos, whether one end has the kernel's own module, the load, and the faults in their
order. Two guests are booted for a run. A run that has ended adds a line to Documentation/ordeal/log.jsonl, and leaves
all that is known of it in build/ordeal.

Exit status: 0 when all runs passed, 1 when one failed (it is the last then), 2 when a run could not begin.
"""


def arguments_of(words: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="ordeal", formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EPILOG,
        description="NFS under faults that a seed chooses, every byte verified: see Documentation/ordeal.rst.")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--hours", type=float, help="all runs together")
    length.add_argument("--minutes", type=float, help=f"the same in minutes (default: one run of {RUN_MINUTES:.0f})")
    parser.add_argument("--run-minutes", type=float, default=RUN_MINUTES, metavar="MINUTES",
                        help=f"of faults in one run (default: {RUN_MINUTES:.0f})")
    parser.add_argument("--seed", type=int, help="of the first run (default: one that the log does not have)")
    parser.add_argument("--resume", action="store_true",
                        help="count what the log has of seeds from --seed on, and go on with the next that it has not")
    parser.add_argument("--server", choices=KERNELS, help="the server's kernel, in the place of the seed's")
    parser.add_argument("--client", choices=KERNELS, help="the client's kernel")
    parser.add_argument("--nfs", choices=NFS_VERSIONS, help="the NFS version")
    parser.add_argument("--protocol", choices=PROTOCOLS, help="the highest version of RPC-over-RDMA")
    parser.add_argument("--export", choices=(*EXPORTS, TMPFS), help="the file system")
    parser.add_argument("--flavour", choices=FLAVOURS, default=STOCK,
                        help="Debian's kernels (stock), or test kernels that scripts/test-kernel has built of their "
                        "sources, which are slow: with KASAN, lockdep, kmemleak and others (debug), or KCSAN (kcsan)")
    parser.add_argument("--ours", choices=ENDS, help="where our module is; another end has the kernel's own")
    parser.add_argument("--security", choices=SECURITIES, help="sec= of the mount (not with NFS 4.0: it is sys then)")
    parser.add_argument("--faults", type=kinds_of, default=[], metavar="KIND,...", help="only these: see --list")
    parser.add_argument("--no-log", action="store_true", help="adds no line to the log in Documentation/ordeal")
    parser.add_argument("--list", action="store_true", help="the kinds of faults, and how soon the load must go on")
    parser.add_argument("--summary", action="store_true", help="what the log has, all runs together")
    return parser.parse_args(words)


def kinds_of(words: str) -> list[str]:
    """The kinds that are named."""
    kinds = words.split(",")
    if unknown := sorted(set(kinds) - KINDS.keys()):
        raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}: there are {', '.join(KINDS)}")
    return kinds


def main(words: Sequence[str] | None = None) -> int:
    """Does what the command line says."""
    arguments = arguments_of(words)
    if arguments.list:
        print(listed())
        return PASSED
    if arguments.summary:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        print(records.summary(records.read()))
        return PASSED
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return do_runs(arguments)
    except (LabError, FileNotFoundError) as error:
        print(f"ordeal: {error}", file=sys.stderr)
        return COULD_NOT


def do_runs(arguments: argparse.Namespace) -> int:
    """One run after the other, until the time is over or one fails."""
    seed, left = begin_of(arguments, records.read())
    done = 0
    while left > 0:
        cell = Cell.of(seed, **{name: getattr(arguments, name) for name in vars(Cell.of(seed))})
        record = new_record(seed, cell, records.commit_under_test())
        record.kinds = arguments.faults
        do_run(record, min(left, arguments.run_minutes), arguments)
        if not record.passed:
            return FAILED
        done += 1
        left -= record.minutes
        seed += 1
    print(f"ordeal: {done} runs passed, 0 failed")
    return PASSED


def begin_of(arguments: argparse.Namespace, lines: Sequence[records.Line]) -> tuple[int, float]:
    """The first seed, and how many minutes are left."""
    minutes = arguments.hours * 60 if arguments.hours else arguments.minutes or arguments.run_minutes
    if arguments.seed is None:
        return max((line["seed"] for line in lines), default=0) + 1, minutes
    if not arguments.resume:
        return arguments.seed, minutes
    known = {line["seed"]: line["minutes"] for line in lines
             if line["outcome"] == records.PASSED and line["seed"] >= arguments.seed
             and Cell.logged(line).flavour == arguments.flavour and line.get("kinds", []) == arguments.faults}
    seed = arguments.seed
    while seed in known:
        minutes -= known[seed]
        seed += 1
    print(f"ordeal: the log has {seed - arguments.seed} runs from seed {arguments.seed} on; {max(minutes, 0):.0f} "
          "minutes are left", flush=True)
    return seed, minutes


def kinds_in(cell: Cell, wanted: Sequence[str]) -> list[str]:
    """Those of the wanted kinds that can be had there; all that can, where nothing is said."""
    kinds = [kind for kind in possible_kinds(cell) if not wanted or kind in wanted]
    if not kinds:
        raise LabError(f"none of these faults can be had with {cell}: choose others, or another --export")
    return kinds


def do_run(record: records.Record, minutes: float, arguments: argparse.Namespace) -> None:
    """One run, from the boot of its guests to its line in the log."""
    begin = time.monotonic()

    def say(text: str) -> None:
        print(f"ordeal: seed {record.seed}, {time.monotonic() - begin:4.0f} s: {text}", flush=True)

    logs = LOGS / f"ordeal-{time.strftime('%Y%m%d-%H%M%S')}-seed{record.seed}"
    say(f"{record.cell}; {minutes:.1f} minutes of faults; logs in {logs}")
    kinds = kinds_in(record.cell, arguments.faults)
    if left_out := sorted(set(arguments.faults) - set(kinds)):
        say(f"left out, because it cannot be had there: {', '.join(left_out)}")
    server, client = kernel_of(record.cell, record.cell.server), kernel_of(record.cell, record.cell.client)
    for kernel in {server, client}:
        build_module(kernel)
    build_peer()
    transports = [OURS if record.cell.ours in (BOTH, end) else IN_TREE for end in ("client", "server")]
    with Pair(server, client, logs, *transports) as pair:
        try:
            Run(pair, record, say).endure(minutes * 60, kinds)
        except ERRORS:
            recorder.save(pair, logs)
            tell_failure(record, logs, blocked_tasks(pair), arguments)
    say(f"{record.outcome.splitlines()[0]}; all of it in {record.write()}")
    if not arguments.no_log:
        records.append(record)


def kernel_of(cell: Cell, series: str) -> Kernel:
    """A guest's kernel."""
    return Kernel.find(series) if cell.flavour == STOCK else Kernel.test(cell.flavour, series)


def tell_failure(record: records.Record, logs: Path, blocked: str, arguments: argparse.Namespace) -> None:
    """What is wrong, what came before, and how to have it again."""
    print(f"ordeal: seed {record.seed} {record.outcome}\n\nThe last faults before that:")
    for fault in record.faults[-LAST_FAULTS:]:
        print(f"  fault {fault.number}, {fault.at:.0f} s after the client's boot: {fault.kind}: {fault.what}; the load "
              f"went on after {fault.recovery:.1f} s")
    kinds = f" --faults {','.join(arguments.faults)}" if arguments.faults else ""
    again = f"--seed {record.seed} --run-minutes {arguments.run_minutes:g} {record.cell.options()}{kinds}"
    print(f"\nQueue pairs, and tasks that wait:\n{blocked}\n\nLogs: {logs}\n"
          f"To have it again, at commit {record.commit}:\n  scripts/ordeal {again}", flush=True)
