# SPDX-License-Identifier: GPL-2.0-only
"""make bench: what an NFS operation costs with our module, and what with the in-tree one."""

import argparse
import re
import signal
import sys
import time
from pathlib import Path

from bench import report
from bench.machine import Machine, sysctls
from bench.measure import Benchmark, Side, rows_of
from bench.profile import Profiler
from bench.workloads import Unfit
from lab.errors import LabError
from lab.kernel import Kernel
from lab.module import build_module
from lab.pair import OURS, STOCK
from lab.paths import CHECKOUT, LOGS

NAMES = {STOCK: "in-tree", OURS: "ours"}
# Exit statuses.
PASSED, ABOVE_LIMIT, NOT_MEASURED = 0, 1, 2


def arguments_of(command_line: list[str] | None) -> argparse.Namespace:
    """Takes the command line apart."""
    parser = argparse.ArgumentParser(
        prog="bench", description=__doc__, epilog="Exit status: 0 when no ratio is above the limit, 1 when one is, "
        "2 when it could not be measured. Documentation/benchmark.rst says more.")
    parser.add_argument("--limit", type=float, default=1.10, help="the highest ratio that passes (default: 1.10)")
    parser.add_argument("--only", type=expression, default="", metavar="REGEX",
                        help="only rows whose names have a match, such as '4 KiB.*NFS 3'")
    parser.add_argument("--versions", default="3,4.2", metavar="LIST", help="NFS versions (default: 3,4.2)")
    parser.add_argument("--rounds", type=int, default=2, help="how often each is measured (default: 2)")
    parser.add_argument("--self", dest="itself", choices=[STOCK, OURS],
                        help="this module against itself: tells what the ratios are worth")
    parser.add_argument("--inline", type=int, default=4096, metavar="BYTES",
                        help="inline thresholds of client and server (default: 4096, as in-tree)")
    parser.add_argument("--kernel", default="6.12", help="6.1 or 6.12 (the default)")
    parser.add_argument("--functions", type=int, default=0, metavar="N",
                        help="also show, for each row, the N functions that differ most, and the modules")
    parser.add_argument("--json", type=Path, metavar="FILE", help="instead of build/bench/TIME.json")
    arguments = parser.parse_args(command_line)
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    return arguments


def expression(text: str) -> str:
    """A regular expression."""
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def main(command_line: list[str] | None = None) -> int:
    """Runs it; the last line says whether it passed."""
    arguments = arguments_of(command_line)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return run(arguments)
    except (LabError, Unfit, FileNotFoundError) as error:
        print(f"{error}\nbench: failed: could not measure")
        return NOT_MEASURED


def run(arguments: argparse.Namespace) -> int:
    """Boots the machine, fills the table and says what it shows."""
    kernel = Kernel.find(arguments.kernel)
    began = time.monotonic()
    stamp = time.strftime("%Y%m%d-%H%M%S")
    rows = rows_of(arguments.versions.split(","), arguments.only)
    if not rows:
        raise Unfit("no row has such a name")
    if arguments.itself:
        name = NAMES[arguments.itself]
        sides = (Side(name, arguments.itself), Side(f"{name} again", arguments.itself))
    else:
        sides = (Side(NAMES[STOCK], STOCK), Side(NAMES[OURS], OURS))
    if any(side.transport == OURS for side in sides):
        build_module(kernel)

    def say(text: str) -> None:
        print(f"bench: {time.monotonic() - began:4.0f} s: {text}", file=sys.stderr, flush=True)

    settings = sysctls(arguments.inline)
    profiler = Profiler(CHECKOUT / "build" / "bench") if arguments.functions else None
    machine = Machine(kernel, LOGS / f"bench-{stamp}", profiler)
    say(f"booting Linux {kernel.release} on an emulated processor that counts its instructions")
    try:
        machine.start()
        benchmark = Benchmark(machine, sides, settings, say)
        for number in range(arguments.rounds):
            benchmark.round(number, rows)
    finally:
        machine.stop()
        if profiler:
            profiler.close()

    path = arguments.json or CHECKOUT / "build" / "bench" / f"{stamp}.json"
    report.write(path, report.document(rows, sides, benchmark.identities, kernel, settings, arguments.limit))
    print(f"thousand guest instructions per operation, Linux {kernel.release}, one processor, inline thresholds "
          f"{arguments.inline}, {arguments.rounds} rounds")
    for side in sides:
        print(f"{side.name}: {benchmark.identities[side.name]}")
    print(f"\n{report.table(rows, sides, arguments.limit)}\n\nall figures: {path}")
    for row in rows if profiler else []:
        print(f"\n{report.functions(row, sides, arguments.functions)}")
    failures = report.above(rows, arguments.limit)
    for failure in failures:
        print(f"bench: {failure}")
    print("bench: failed" if failures else "bench: passed")
    return ABOVE_LIMIT if failures else PASSED
