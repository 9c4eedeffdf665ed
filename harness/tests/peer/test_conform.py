# SPDX-License-Identifier: GPL-2.0-only
"""The conformance suite, against our server and against our client: each case is a test.

The suite runs once for each machine and side; a test looks at its case's row, and at what the
kernel said while that case ran. The reports are left in build/conformance/.
"""

from collections.abc import Iterable

import pytest
from conftest import TRANSPORT

from lab.conformance import CASES, Outcome, case_names, run_side
from lab.nfs import OURS
from lab.run import FULL
from lab.solo import Solo

# What the cases need that are apart.
ARRANGED = {"max_req_size": 16384, "reverse_chunks": 2}
# Up to which version of RPC-over-RDMA each side of our module is tested. 2 adds the cases in cases/version-2.
SPEAKS = {"server": 2, "client": 2}


def protocol(side: str) -> int:
    """The highest version that the side under test speaks."""
    return SPEAKS[side] if TRANSPORT == OURS else 1


def all_names(side: str) -> list[str]:
    """The cases for one side, of each version that it speaks, but for those that are apart."""
    files = (CASES / "version-2" / side).rglob("*.case") if protocol(side) == 2 else ()
    return case_names(side) + sorted(f"{side}/{path.stem}" for path in files)


def run(machine: Solo, side: str, *options: str, label: str = "") -> Outcome:
    """Runs cases for one side, which speaks what SPEAKS says."""
    return run_side(machine, side, "--protocol", str(protocol(side)), *options, label=label)


def only(names: Iterable[str]) -> list[str]:
    """The options that select these cases."""
    return [word for name in sorted(names) for word in ("--only", name)]


def selected(request: pytest.FixtureRequest, side: str) -> list[str]:
    """The options that leave out cases which nobody asks for."""
    names = {item.callspec.params["name"] for item in request.session.items
             if item.name.startswith(f"test_{side}[")}
    if names == set(all_names(side)):
        return []
    return only(names)


@pytest.fixture(scope="session")
def server_outcome(request: pytest.FixtureRequest, machine: Solo) -> Outcome:
    """What the cases for servers came to."""
    return run(machine, "server", *selected(request, "server"))


@pytest.fixture(scope="session")
def client_outcome(request: pytest.FixtureRequest, machine: Solo) -> Outcome:
    """What the cases for clients came to."""
    return run(machine, "client", *selected(request, "client"))


@pytest.fixture(scope="session")
def arranged_outcome(request: pytest.FixtureRequest, machine: Solo) -> Outcome:
    """What those came to that need a server with another arrangement than ours has at first."""
    names = {item.callspec.params["name"] for item in request.session.items
             if item.name.startswith("test_arranged_server[")}
    folder = "/proc/sys/sunrpc/svc_rdma"
    there = machine.guest.run(f"ls {folder}").stdout.split()
    settings = {f"{folder}/{name}": value for name, value in ARRANGED.items() if name in there}
    before = {path: machine.guest.read(path).strip() for path in settings}
    for path, value in settings.items():
        machine.guest.run(f"echo {value} >{path}")
    try:
        return run(machine, "server", *only(names), label="-apart")
    finally:
        for path, value in before.items():
            machine.guest.run(f"echo {value} >{path}")


@pytest.fixture(scope="session")
def long_lasting_outcome(machine: Solo) -> Outcome:
    """What those came to that take minutes."""
    return run(machine, "client", *only(case_names("client", apart=True)), label="-apart")


@pytest.mark.parametrize("name", all_names("server"))
def test_server(server_outcome: Outcome, name: str) -> None:
    """Our server does what the case wants."""
    server_outcome.judge(name)


@pytest.mark.parametrize("name", all_names("client"))
def test_client(client_outcome: Outcome, name: str) -> None:
    """Our client does what the case wants."""
    client_outcome.judge(name)


@pytest.mark.parametrize("name", case_names("server", apart=True))
def test_arranged_server(arranged_outcome: Outcome, name: str) -> None:
    """Our server does what the case wants, where it takes long messages and offers chunks to clients."""
    arranged_outcome.judge(name)


@pytest.mark.skipif(not FULL, reason="takes minutes: FULL=1")
@pytest.mark.parametrize("name", case_names("client", apart=True))
def test_client_for_long(long_lasting_outcome: Outcome, name: str) -> None:
    """Our client does what the case wants."""
    long_lasting_outcome.judge(name)
