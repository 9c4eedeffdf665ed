# SPDX-License-Identifier: GPL-2.0-only
"""Machines that are up for a block, and what becomes of a test in whose machines a kernel complained."""

from types import TracebackType
from typing import Any, Self

from lab.errors import LabError
from lab.guest import Guest

KERNEL_LOG_LINES = 120


class Machines:
    """Guests that are started and stopped together."""

    @property
    def guests(self) -> tuple[Guest, ...]:
        """All of them."""
        raise NotImplementedError

    def start(self) -> None:
        """Boots them up to the point where a mount will work."""
        raise NotImplementedError

    def stop(self) -> None:
        """Switches them off, also where start() has failed, and throws their disks away."""
        raise NotImplementedError

    def start_or_stop(self) -> None:
        """Leaves nothing behind where they do not start, or where a kernel complains before the first test."""
        try:
            self.start()
            complaints = [line for guest in self.guests for line in complaints_of(guest, "set up")]
            if complaints:
                raise LabError("a kernel complained before the first test:\n" + "\n".join(complaints))
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        self.start_or_stop()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.stop()

    def judge(self, report: Any) -> None:
        """Fails a test, of which this is the report, where a kernel complained; shows the logs of one that failed."""
        complaints = [line for guest in self.guests for line in complaints_of(guest, "end of the test")]
        if complaints:
            shown = "\n".join(complaints)
            report.outcome = "failed"
            report.longrepr = f"a kernel complained:\n{shown}\n\n{report.longreprtext}"
        if report.failed:
            for guest in self.guests:
                log = "\n".join(map(str, guest.kernel_log[-KERNEL_LOG_LINES:]))
                report.sections.append((f"kernel log of the {guest.name}", log))
            report.sections.append(("logs", str(self.guests[0].console_log.parent)))


def complaints_of(guest: Guest, mark: str) -> list[str]:
    """What its kernel complained of since it was asked last; that it does not answer is a complaint, too.

    The mark in its log is where that ends.
    """
    silent = []
    if guest.alive:
        try:
            guest.mark(mark)
        except LabError as error:
            silent = [f"{guest.name} does not answer: {error}"]
    return silent + [f"{guest.name}: {line}" for line in guest.complaints()]
