# SPDX-License-Identifier: GPL-2.0-only
"""The conformance suite, against our server and against our client: each case is a test.

The suite runs once for each machine and side; a test looks at its case's row, and at what the
kernel said while that case ran. The reports are left in build/conformance/.
"""

from collections.abc import Iterable

import pytest

from lab.conformance import Outcome, case_names, run_side
from lab.run import FULL
from lab.solo import Solo

# What the cases need that are apart.
ARRANGED = {"max_req_size": 16384, "reverse_chunks": 2}


def only(names: Iterable[str]) -> list[str]:
    """The options that select these cases."""
    return [word for name in sorted(names) for word in ("--only", name)]


def selected(request: pytest.FixtureRequest, side: str) -> list[str]:
    """The options that leave out cases which nobody asks for."""
    names = {item.callspec.params["name"] for item in request.session.items
             if item.name.startswith(f"test_{side}[")}
    if names == set(case_names(side)):
        return []
    return only(names)


@pytest.fixture(scope="session")
def server_outcome(request: pytest.FixtureRequest, machine: Solo) -> Outcome:
    """What the cases for servers came to."""
    return run_side(machine, "server", *selected(request, "server"))


@pytest.fixture(scope="session")
def client_outcome(request: pytest.FixtureRequest, machine: Solo) -> Outcome:
    """What the cases for clients came to."""
    return run_side(machine, "client", *selected(request, "client"))


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
        return run_side(machine, "server", *only(names), label="-apart")
    finally:
        for path, value in before.items():
            machine.guest.run(f"echo {value} >{path}")


@pytest.fixture(scope="session")
def long_lasting_outcome(machine: Solo) -> Outcome:
    """What those came to that take minutes."""
    return run_side(machine, "client", *only(case_names("client", apart=True)), label="-apart")


@pytest.mark.parametrize("name", case_names("server"))
def test_server(server_outcome: Outcome, name: str) -> None:
    """Our server does what the case wants."""
    server_outcome.judge(name)


@pytest.mark.parametrize("name", case_names("client"))
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
