# SPDX-License-Identifier: GPL-2.0-only
"""make bench: what an NFS operation costs with our module, and what with the in-tree one."""

import argparse
import math
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench import memory, record, report, verbs
from bench.machine import MIXED, NAMES, TCP, Machine, sysctls
from bench.measure import Benchmark, Comparison, Row, Side, rows_of
from bench.profile import Profiler
from bench.workloads import CURVES, WORKLOADS, Unfit
from lab.errors import LabError
from lab.kernel import Kernel
from lab.module import build_module
from lab.pair import OURS, STOCK
from lab.paths import CHECKOUT, LOGS
from lab.peer import build_peer

# How much more version 2 may cost than version 1; and where the same module differs that much from mount to mount.
PROTOCOL_LIMIT, NOISE_OF_LARGE = 1.005, 1.03
# How often all rows are measured again, where one costs more than recorded: it may have fallen into another rhythm.
AGAIN = 2
# Exit statuses.
PASSED, ABOVE_LIMIT, NOT_MEASURED = 0, 1, 2


def arguments_of(command_line: list[str] | None) -> argparse.Namespace:
    """Takes the command line apart."""
    parser = argparse.ArgumentParser(
        prog="bench", description=__doc__, epilog="Exit status: 0 when no ratio is above the limit, 1 when one is, "
        "2 when it could not be measured. Documentation/benchmark.rst says more.")
    parser.add_argument("--limit", type=float, default=1.10,
                        help="the highest ratio to the first side that passes (default: 1.10)")
    parser.add_argument("--only", type=expression, default="", metavar="REGEX",
                        help="only rows whose names have a match, such as '4 KiB.*NFS 3'")
    parser.add_argument("--versions", default="3,4.2", metavar="LIST", help="NFS versions (default: 3,4.2)")
    parser.add_argument("--rounds", type=int, default=2, help="how often each is measured (default: 2)")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--self", dest="itself", choices=[STOCK, OURS],
                         help="this module against itself: tells what the ratios are worth")
    instead.add_argument("--before", type=Path, metavar="FILE",
                         help="our module against this other build of it")
    parser.add_argument("--protocol", type=int, choices=[1, 2], metavar="1|2",
                        help="the highest version of RPC-over-RDMA with our module, which is measured with both "
                        "where nothing is said")
    parser.add_argument("--mixed", action="store_true",
                        help="also measure our client with the in-tree server, and the in-tree client with our server; "
                        "with --protocol")
    parser.add_argument("--tcp", action="store_true", help="also measure NFS over TCP, through the same machine")
    parser.add_argument("--inline", type=int, metavar="BYTES",
                        help="inline thresholds of client and server (default: each module's own: 16384, in-tree 4096)")
    parser.add_argument("--kernel", default="6.12", help="such as 6.1, 7.3 or 6.12-arm64 (default: 6.12)")
    parser.add_argument("--processor", metavar="NAME",
                        help="the emulated processor, as QEMU's -cpu has it, such as max,-erms,-fsrm (default: max)")
    parser.add_argument("--functions", type=int, default=0, metavar="N",
                        help="also show, for each row, the N functions that differ most, and the modules")
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--record", type=Path, metavar="FILE",
                      help="also keep the ratio of our module to the in-tree one, and what its functions execute")
    kept.add_argument("--recorded", type=Path, metavar="FILE",
                      help="fail where a ratio is more than 1 %% above that in this file; name the functions that grew")
    parser.add_argument("--curve", choices=list(CURVES),
                        help="measure in place of the rows how the cost of an operation grows with this")
    parser.add_argument("--memory", action="store_true",
                        help="measure in place of that how much memory a connection takes, with both modules")
    parser.add_argument("--verbs", action="store_true",
                        help="measure in place of that what the device takes without RPC: bare verbs, and NULL calls "
                        "from the same program")
    parser.add_argument("--json", type=Path, metavar="FILE", help="instead of build/bench/TIME.json")
    parser.add_argument("--draw", type=Path, nargs=2, metavar=("JSON", "SVG"),
                        help="measure nothing: draw a curve that has been measured")
    arguments = parser.parse_args(command_line)
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    if (arguments.record or arguments.recorded) and (arguments.itself or arguments.before or not arguments.protocol):
        parser.error("--record and --recorded: with --protocol, and without --self and --before")
    if arguments.mixed and (arguments.itself or arguments.before or arguments.inline or not arguments.protocol):
        parser.error("--mixed: with --protocol, and without --self, --before and --inline")
    if arguments.before:
        arguments.before = arguments.before.resolve()
        if not arguments.before.is_file():
            parser.error(f"--before: there is no {arguments.before}")
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
        if arguments.draw:
            return draw(*arguments.draw)
        if arguments.verbs:
            return run_verbs(arguments)
        return run_memory(arguments) if arguments.memory else run(arguments)
    except (LabError, Unfit, FileNotFoundError, ValueError) as error:
        print(f"{error}\nbench: failed: could not measure")
        return NOT_MEASURED


def compared(arguments: argparse.Namespace) -> tuple[tuple[Side, ...], list[Comparison]]:
    """What is measured, and which ratios are of interest."""
    sides, comparisons = modules_compared(arguments)
    ours = len(sides) - 1
    if arguments.mixed:
        mixed = range(len(sides), len(sides) + len(MIXED))
        sides = (*sides, *(Side(NAMES[transport], transport, None, arguments.protocol) for transport in MIXED))
        comparisons = [*comparisons, *(Comparison(side, 0, arguments.limit, arguments.limit) for side in mixed)]
    if not arguments.tcp:
        return sides, comparisons
    tcp = len(sides)
    return (*sides, Side(NAMES[TCP], TCP)), [*comparisons, Comparison(ours, tcp, math.inf, math.inf)]


def modules_compared(arguments: argparse.Namespace) -> tuple[tuple[Side, ...], list[Comparison]]:
    """The same without TCP."""
    limit = arguments.limit
    to_first = Comparison(1, 0, limit, limit)
    if arguments.itself:
        name = NAMES[arguments.itself]
        protocol = arguments.protocol if arguments.itself == OURS else None
        return tuple(Side(side, arguments.itself, None, protocol) for side in (name, f"{name} again")), [to_first]
    if arguments.before:
        return (Side("before", OURS, arguments.before), Side("now", OURS, None, arguments.protocol)), [to_first]
    stock = Side(NAMES[STOCK], STOCK)
    if arguments.protocol:
        return (stock, Side(NAMES[OURS], OURS, None, arguments.protocol)), [to_first]
    versions = tuple(Side(f"{NAMES[OURS]}, v{protocol}", OURS, None, protocol) for protocol in (1, 2))
    return (stock, *versions), [Comparison(2, 0, limit, limit), Comparison(2, 1, PROTOCOL_LIMIT, NOISE_OF_LARGE)]


def teller() -> Callable[[str], None]:
    """Says how far it is, with the seconds since now."""
    began = time.monotonic()
    return lambda text: print(f"bench: {time.monotonic() - began:4.0f} s: {text}", file=sys.stderr, flush=True)


def draw(source: Path, target: Path) -> int:
    """Draws a curve, with a package that nothing else needs."""
    try:
        from bench import plot  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        print(f"{error}\nbench: failed: scripts/setup plot installs what drawing needs")
        return NOT_MEASURED
    plot.draw(source, target)
    return PASSED


def run_memory(arguments: argparse.Namespace) -> int:
    """Measures what connections take."""
    kernel = Kernel.find(arguments.kernel)
    say = teller()
    build_module(kernel)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    figures = memory.measure(kernel, LOGS / f"bench-memory-{stamp}", arguments.rounds, say)
    path = arguments.json or CHECKOUT / "build" / "bench" / f"memory-{stamp}.json"
    report.write(path, report.memory_document(figures, kernel))
    print(f"memory that a connection takes, Linux {kernel.release}, {arguments.rounds} rounds")
    print(f"\n{memory.table(figures)}\n\nall figures: {path}\nbench: passed")
    return PASSED


def run_verbs(arguments: argparse.Namespace) -> int:
    """Measures what there is below RPC."""
    kernel = Kernel.find(arguments.kernel)
    say = teller()
    build_module(kernel)
    build_peer(architecture=kernel.architecture)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    figures = verbs.measure(kernel, LOGS / f"bench-verbs-{stamp}", say)
    path = arguments.json or CHECKOUT / "build" / "bench" / f"verbs-{stamp}.json"
    report.write(path, report.verbs_document(figures, kernel))
    print(f"thousand guest instructions, Linux {kernel.release}, one processor; the server's module")
    print(f"\n{verbs.table(figures)}\n\nall figures: {path}\nbench: passed")
    return PASSED


def measure_worse_again(benchmark: Benchmark, rows: list[Row], number: int, worse: Callable[[], list[str]]) -> None:
    """All rows once more while one costs more than recorded, AGAIN times at most; number is that of the next round."""
    for number in range(number, number + AGAIN):
        failures = worse()
        if not failures:
            break
        benchmark.say(f"all rows are measured again: {failures[0]}")
        benchmark.round(number, rows)


def recorded_of(rows: list[Row], comparison: Comparison) -> list[record.Recorded]:
    """What a record has of the rows."""
    return [record.Recorded.of(row, comparison) for row in rows]


def run(arguments: argparse.Namespace) -> int:
    """Boots the machine, fills the table and says what it shows."""
    kernel = Kernel.find(arguments.kernel)
    say = teller()
    stamp = time.strftime("%Y%m%d-%H%M%S")
    sides, comparisons = compared(arguments)
    workloads = CURVES[arguments.curve].workloads if arguments.curve else WORKLOADS
    rows = rows_of(workloads, arguments.versions.split(","), arguments.only, len(sides))
    if not rows:
        raise Unfit("no row has such a name")
    if any(side.transport == OURS for side in sides):
        build_module(kernel)

    settings = sysctls(arguments.inline)
    before = record.read(arguments.recorded) if arguments.recorded else []
    keeps = arguments.record or arguments.recorded
    profiler = Profiler(CHECKOUT / "build" / "bench") if arguments.functions or keeps else None
    machine = Machine(kernel, LOGS / f"bench-{stamp}", profiler, arguments.processor)
    say(f"booting Linux {kernel.release} on an emulated processor that counts its instructions")
    try:
        machine.start()
        benchmark = Benchmark(machine, sides, settings, say)
        for number in range(arguments.rounds):
            benchmark.round(number, rows)
        if arguments.recorded:
            measure_worse_again(benchmark, rows, arguments.rounds,
                                lambda: record.worse(before, recorded_of(rows, comparisons[0])))
    finally:
        machine.stop()
        if profiler:
            profiler.close()

    path = arguments.json or CHECKOUT / "build" / "bench" / f"{stamp}.json"
    report.write(path, report.document(rows, sides, comparisons, benchmark.identities, machine, settings,
                                       arguments.curve))
    print(f"thousand guest instructions per operation, Linux {kernel.release}, one processor, inline thresholds "
          f"{arguments.inline or 'of each module'}, {len(rows[0].figures[0].samples)} rounds")
    for number, side in enumerate(sides, 1):
        print(f"{number} {side.name}: {benchmark.identities[side.name]}")
    print(f"\n{report.table(rows, sides, comparisons)}\n\nall figures: {path}")
    for row in rows if arguments.functions else []:
        for comparison in comparisons:
            print(f"\n{report.functions(row, sides, comparison, arguments.functions)}")
    failures = report.above(rows, sides, comparisons)
    if arguments.curve:
        failures += report.too_steep(rows, sides, CURVES[arguments.curve])
    now = recorded_of(rows, comparisons[0])
    if arguments.record:
        record.write(arguments.record, kernel.release, now)
    if arguments.recorded:
        failures += record.worse(before, now)
    for failure in failures:
        print(f"bench: {failure}")
    print("bench: failed" if failures else "bench: passed")
    return ABOVE_LIMIT if failures else PASSED
