# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures: pairs of guests, the cells of the matrix, and what a failed test reports.

A cell is a pair of kernels, the transport of each, and an NFS version. The environment says how
much is run:

    FULL=1                               every cell, at full count
    CELLS=usual                          with FULL=1, the cells of a run without it
    RESUME=1                             only what has not passed yet; with FULL=1, at full count
    KERNELS="6.12 7.3"                   all pairs of these kernels
    UNTIL=SECONDS                        tests that have not begun by then, since 1970, are left out
    SYSTEM=13                            guests with the user space of that Debian release
    RPCORDMA_CLIENT_TRANSPORT=stock      the kernel's own module in the place of ours in clients,
    RPCORDMA_SERVER_TRANSPORT=stock      in servers, to try the tests
"""

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab import Kernel, Pair, results  # noqa: E402
from lab.kernel import foreign_pairs, usual_series  # noqa: E402
from lab.nfs import OURS, STOCK  # noqa: E402
from lab.paths import LOGS  # noqa: E402
from lab.run import EVERY_CELL, FULL, SIDE_BY_SIDE, commit, switched_on  # noqa: E402
from lab.system import SYSTEM  # noqa: E402

# What stands for our transport in clients, and in servers.
CLIENT_TRANSPORT = os.environ.get("RPCORDMA_CLIENT_TRANSPORT", OURS)
SERVER_TRANSPORT = os.environ.get("RPCORDMA_SERVER_TRANSPORT", OURS)
STARTED = time.strftime("%Y%m%d-%H%M%S")
LOG_DIRECTORY = LOGS / f"check-{STARTED}{SIDE_BY_SIDE and '-' + SIDE_BY_SIDE}"
UNTIL = int(os.environ.get("UNTIL", "0"))
TIME_IS_OVER = "the time for this run is over"
# How many tests have passed already.
LEFT_OUT = pytest.StashKey[int]()

VERSIONS = ("3", "4.0", "4.1", "4.2")
ASKED_FOR = tuple(os.environ.get("KERNELS", "").split())
KERNELS = ASKED_FOR or usual_series()
EVERY_PAIR = EVERY_CELL or bool(ASKED_FOR)
# Server and client. The pair of most heavy tests comes first: where time runs out, the others are left out.
# A kernel meets the others where every cell is run, or where one asks for these kernels.
NATIVE_PAIRS = tuple((server, client) for client, server in product(reversed(KERNELS), reversed(KERNELS))
                     if EVERY_PAIR or server == client)
ABROAD = () if ASKED_FOR else foreign_pairs()
PAIRS = NATIVE_PAIRS + ABROAD
# The client's transport and the server's, in the order in which each pair of kernels uses them: one
# machine changes at a time.
TRANSPORTS = ((OURS, STOCK), (OURS, OURS), (STOCK, OURS))
# What a test is about comes first where it runs once for a side: the other is the kernel's own.
ABOUT = {"client": ((OURS, STOCK), (OURS, OURS)), "server": ((STOCK, OURS), (OURS, OURS)),
         "both together": ((OURS, OURS),)}
BOTH = ("both together",)


@dataclass(frozen=True)
class Cell:
    """Where a test runs."""

    server: str
    client: str
    client_transport: str
    server_transport: str
    version: str

    def __str__(self) -> str:
        client = "client" if self.client_transport == OURS else "stock"
        server = "ourserver" if self.server_transport == OURS else "server"
        nfs = f"-nfs{self.version}" if self.version else ""
        return f"{client}{self.client}-{server}{self.server}{nfs}"

    def place(self) -> tuple[int, int]:
        """Where in the order of running it is."""
        return (PAIRS.index((self.server, self.client)),
                TRANSPORTS.index((self.client_transport, self.server_transport)))


def pytest_configure(config: pytest.Config) -> None:
    """Declares the markers; ends in order when told to, so that the machines' disks are removed."""
    # Who runs tests beside others is told by who began them all, and need not be in a main thread.
    if not SIDE_BY_SIDE:
        signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", 128 + signal.SIGTERM))
    config.addinivalue_line("markers", "about(*sides): it is about our client, or our server, "
                                       "or both; without, about every transport")
    config.addinivalue_line("markers", "each_side: without FULL=1 it runs once for each side that "
                                       "it is about; else those about both run once, both ours")
    config.addinivalue_line("markers", "every_cell: runs in every cell even without FULL=1, with the first kernels "
                                       "in each NFS version, and with the others in the first and the last")
    config.addinivalue_line("markers", "abroad: without FULL=1 it runs once more, with machines of another kind")
    config.addinivalue_line("markers", "once_per_pair: is not about an NFS version")
    config.addinivalue_line("markers", "versions(*names): the NFS versions that it is about; "
                                       "without FULL=1 it runs with the last of them")
    config.addinivalue_line("markers", "clients(*names): the client kernels that it is about")
    config.addinivalue_line("markers", "servers(*names): the server kernels that it is about")
    config.addinivalue_line("markers", "last: runs after the others of its pair of kernels and "
                                       "their transports")


# The matrix

def cells_of(test: pytest.Function | pytest.Metafunc) -> list[Cell]:
    """The cells in which a test runs."""
    node = getattr(test, "definition", test)

    def marked(name: str, default: tuple[str, ...]) -> tuple[str, ...]:
        marker = node.get_closest_marker(name)
        return marker.args if marker else default

    about = marked("about", ())
    transports = [transport for transport in TRANSPORTS
                  if not about or any(transport in ABOUT[side] for side in about)]
    versions = ("",) if node.get_closest_marker("once_per_pair") else marked("versions", VERSIONS)

    def is_about(side: str, series: str) -> bool:
        return series.split("-")[0] in marked(side, (series.split("-")[0],))

    pairs = [(server, client) for server, client in (PAIRS if EVERY_CELL else NATIVE_PAIRS)
             if is_about("servers", server) and is_about("clients", client)]
    once_more = []
    if not EVERY_CELL and node.get_closest_marker("abroad"):
        once_more = [Cell(server, client, OURS, OURS, versions[-1]) for server, client in ABROAD]
    if not EVERY_CELL and not node.get_closest_marker("every_cell"):
        pairs, versions = pairs[:1], versions[-1:]
        sides = about if len(about) == 1 or node.get_closest_marker("each_side") else BOTH
        transports = [ABOUT[side][0] for side in sides]
    return once_more + [Cell(server, client, *transport, version)
                        for (server, client), transport, version in product(pairs, transports, versions)
                        if EVERY_PAIR or (server, client) == pairs[0] or version in (versions[0], versions[-1])]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs each test that names a cell in all the cells that it is for."""
    if "cell" in metafunc.fixturenames:
        metafunc.parametrize("cell", cells_of(metafunc), ids=str)


def has_cell(item: pytest.Function) -> bool:
    """Whether there is any: a test may be about other kernels than those of this run."""
    return isinstance(item.callspec.params["cell"], Cell)


def pytest_itemcollected(item: pytest.Function) -> None:
    """Keeps together what runs with the same kernels and transports, where tests run side by side."""
    if has_cell(item):
        item.add_marker(pytest.mark.xdist_group("-".join(map(str, item.callspec.params["cell"].place()))))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Function]) -> None:
    """Sorts by kernels and transports, so that each pair is booted once; the short come first."""
    items[:] = [item for item in items if has_cell(item)]
    if switched_on("RESUME"):
        leave_out_what_has_passed(config, items)

    def key(item: pytest.Function) -> tuple[tuple[int, int], bool, bool]:
        return (item.callspec.params["cell"].place(), bool(item.get_closest_marker("last")),
                not item.get_closest_marker("every_cell"))
    items.sort(key=key)


def leave_out_what_has_passed(config: pytest.Config, items: list[pytest.Function]) -> None:
    """Deselects the tests whose latest outcome that was kept is that; with FULL=1, at full count."""
    latest = results.latest(FULL, stock=STOCK in (CLIENT_TRANSPORT, SERVER_TRANSPORT))
    passed = {name for name, record in latest.items() if record["outcome"] == "passed"}
    done = [item for item in items if results.name_of(item.nodeid) in passed]
    items[:] = [item for item in items if results.name_of(item.nodeid) not in passed]
    config.hook.pytest_deselected(items=done)
    config.stash[LEFT_OUT] = len(done)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Learns what only those know that run tests side by side."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left out", 0)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """That nothing is left to run is no failure, unless there never was anything."""
    if SIDE_BY_SIDE:
        session.config.workeroutput["left out"] = session.config.stash.get(LEFT_OUT, 0)
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and session.config.stash.get(LEFT_OUT, 0):
        session.exitstatus = pytest.ExitCode.OK


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Leaves out what has not begun when the time is over."""
    if UNTIL and time.time() > UNTIL:
        pytest.skip(TIME_IS_OVER)


# Fixtures

class PairKeeper:
    """Keeps one pair running for as long as the tests ask for the same kernels."""

    def __init__(self) -> None:
        self.pair: Pair | None = None
        self.kernels: tuple[str, str] | None = None
        self.boots = 0

    def get(self, cell: Cell) -> Pair:
        """The running pair with these kernels, with these transports."""
        transports = (CLIENT_TRANSPORT if cell.client_transport == OURS else STOCK,
                      SERVER_TRANSPORT if cell.server_transport == OURS else STOCK)
        if self.kernels != (cell.server, cell.client):
            self.stop()
        try:
            if self.pair:
                self.pair.use(*transports)
            else:
                self.pair = self.boot(cell, *transports)
        except BaseException:
            self.stop()
            raise
        return self.pair

    def boot(self, cell: Cell, *transports: str) -> Pair:
        """A new pair."""
        self.boots += 1
        self.kernels = (cell.server, cell.client)
        logs = LOG_DIRECTORY / f"{self.boots}-client{cell.client}-server{cell.server}"
        pair = Pair(Kernel.find(cell.server), Kernel.find(cell.client), logs, *transports)
        pair.start_or_stop()
        return pair

    def stop(self) -> None:
        """Switches the pair off."""
        if self.pair:
            self.pair.stop()
        self.pair = self.kernels = None


@pytest.fixture(scope="session")
def keeper() -> Iterator[PairKeeper]:
    """Keeps the pair between the tests."""
    kept = PairKeeper()
    yield kept
    kept.stop()


@pytest.fixture
def pair(request: pytest.FixtureRequest, cell: Cell, keeper: PairKeeper) -> Pair:
    """A server and a client, booted and set up, nothing mounted."""
    kept = keeper.get(cell)
    for guest in kept.guests:
        guest.note(f"{request.node.name} begins")
    return kept


@pytest.fixture
def full() -> bool:
    """Whether the full counts are wanted."""
    return FULL


@pytest.fixture
def version(cell: Cell) -> str:
    """The NFS version of the cell."""
    return cell.version


# Reports

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Iterator[None]:
    """Fails a test in whose guests a kernel complained, and shows the kernels' logs."""
    outcome = yield
    report = outcome.get_result()
    used = item.funcargs.get("pair")
    if used is None or report.when != "call":
        return
    used.judge(report)
    # What a failure leaves behind is no ground for the next test.
    if report.failed:
        item.funcargs["keeper"].stop()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keeps the outcome of each test for scripts/results."""
    # Whoever collects the reports of others has this one too.
    if SIDE_BY_SIDE or (report.when != "call" and not report.failed):
        return
    test, where = results.name_of(report.nodeid)
    results.keep(STARTED, {
        "test": test, "where": where, "outcome": report.outcome,
        "seconds": round(report.duration, 1), "full": FULL, "client": CLIENT_TRANSPORT,
        "server": SERVER_TRANSPORT, "system": SYSTEM, "commit": commit(),
        "time": time.strftime("%Y-%m-%d %H:%M:%S")})
    if report.failed:
        # Here at once, while pytest shows it when all tests have run.
        LOG_DIRECTORY.mkdir(parents=True, exist_ok=True)
        with (LOG_DIRECTORY / "failures.txt").open("a", encoding="utf-8") as failures:
            failures.write(f"==== {report.nodeid}\n{report.longreprtext}\n")
            failures.writelines(f"---- {name}\n{text}\n" for name, text in report.sections)
