# SPDX-License-Identifier: GPL-2.0-only
"""The figures that make bench keeps, and what is said of those that are worse."""

from pathlib import Path

import pytest

from bench.cli import AGAIN, measure_worse_again
from bench.record import Recorded, grown, read, worse, write

ROW = Recorded("4 KiB read, NFS 4.2", 0.9, {"send() [rpcordma]": 400.0, "received() [rpcordma]": 200.0})


def test_what_is_kept_is_read_back(tmp_path: Path) -> None:
    """All of it."""
    write(tmp_path / "record.json", "6.12", [ROW])
    assert read(tmp_path / "record.json") == [ROW]


def test_another_file_is_no_record(tmp_path: Path) -> None:
    """And says how to make one."""
    (tmp_path / "other.json").write_text("[]", encoding="utf-8")
    with pytest.raises(ValueError, match="--record"):
        read(tmp_path / "other.json")


@pytest.mark.parametrize("ratio", (0.5, 0.9, 0.909))
def test_what_costs_no_more_passes(ratio: float) -> None:
    """Within what runs differ by."""
    assert worse([ROW], [Recorded(ROW.name, ratio, {})]) == []


def test_what_costs_more_is_named_with_the_functions_that_grew() -> None:
    """The worst first, and none that did not."""
    now = Recorded(ROW.name, 0.91,
                   {"send() [rpcordma]": 410.0, "received() [rpcordma]": 150.0, "new() [rpcordma]": 90.0})
    assert worse([ROW], [now]) == [
        "4 KiB read, NFS 4.2: 0.910 of the in-tree module's instructions, 0.900 before",
        "      +90  new() [rpcordma]", "      +10  send() [rpcordma]"]


def test_a_row_that_was_not_kept_is_named() -> None:
    """A gate that compares nothing must not pass."""
    assert "is not in the record" in worse([], [ROW])[0]


def test_noise_is_not_named() -> None:
    """A few instructions are another path through a retry."""
    assert grown({"send()": 100.0}, {"send()": 104.0}) == []


class Rounds:
    """Takes the place of Benchmark: which rounds were asked for."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def say(self, line: str) -> None:
        """Nobody listens."""

    def round(self, number: int, _rows: list) -> None:
        """Another one."""
        self.numbers.append(number)


@pytest.mark.parametrize("worse_rounds", range(AGAIN + 2))
def test_rows_are_measured_again_while_one_costs_more(worse_rounds: int) -> None:
    """And not without end."""
    rounds = Rounds()
    measure_worse_again(rounds, [], 1, lambda: ["worse"] if len(rounds.numbers) < worse_rounds else [])
    assert rounds.numbers == list(range(1, 1 + min(worse_rounds, AGAIN)))
