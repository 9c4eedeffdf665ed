# SPDX-License-Identifier: GPL-2.0-only
"""How long a command in a guest is waited for. Needs no guest."""

import threading
from collections.abc import Callable

import pytest

from lab.errors import LabTimeout
from lab.guest import Process


class Slow:
    """In the place of a guest, whose command says something now and then and ends, or does not."""

    slowness = 1

    def __init__(self, apart: float, lines: int, ends: bool):
        self.process = Process(self, 1, "words")  # type: ignore[arg-type]
        self.killed = False
        self._changed = threading.Condition()
        threading.Thread(target=self._speak, args=(apart, lines, ends), daemon=True).start()

    def _speak(self, apart: float, lines: int, ends: bool) -> None:
        for _ in range(lines):
            # Not time.sleep(): other tests have one of their own while this still speaks.
            threading.Event().wait(apart)
            self._change(output=self.process.output + "word\n")
        if ends:
            self._change(status=0)

    def _change(self, **what: object) -> None:
        with self._changed:
            vars(self.process).update(what)
            self._changed.notify_all()

    def wait_for(self, condition: Callable[[], bool], timeout: float, what: str) -> None:
        """As a guest does it."""
        with self._changed:
            if not self._changed.wait_for(condition, timeout):
                raise LabTimeout(f"waited in vain for {what}")

    def send(self, **message: object) -> None:
        """A signal."""
        self.killed = message["do"] == "signal"


def test_a_command_that_speaks_is_waited_for() -> None:
    """However much longer than one silence it takes."""
    guest = Slow(0.3, 10, ends=True)
    guest.process.wait_while_it_speaks(2, 60)
    assert guest.process.output == "word\n" * 10 and not guest.killed


def test_a_command_that_is_silent_is_killed() -> None:
    """Though it has spoken before."""
    guest = Slow(0, 3, ends=False)
    with pytest.raises(LabTimeout, match="more of 'words'"):
        guest.process.wait_while_it_speaks(0.5, 60)
    assert guest.process.output == "word\n" * 3 and guest.killed


def test_a_command_that_speaks_without_end_is_killed() -> None:
    """When its whole time is over."""
    guest = Slow(0.1, 1000, ends=True)
    with pytest.raises(LabTimeout):
        guest.process.wait_while_it_speaks(60, 1)
    assert guest.killed
