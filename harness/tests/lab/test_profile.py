# SPDX-License-Identifier: GPL-2.0-only
"""What is made of the stretches of code that make bench's plugin counts."""

import re

from bench.measure import Comparison, Figure, Row, Side
from bench.profile import LOCK, Profile, Stretch, Symbols, module_of
from bench.report import functions
from bench.workloads import WORKLOADS

BASE = 0xffffffff81000000
SYMBOLS = Symbols(f"{BASE:x} T _raw_spin_lock_irqsave\n{BASE + 0x40:x} T schedule\n"
                  f"{BASE + 0x100:x} t _ZN8rpcordma4sendEv\t[rpcordma]\n")
SEND = "rpcordma::send() [rpcordma]"


def test_a_stretch_counts_for_its_function() -> None:
    """A call is what begins at its beginning."""
    profile = Profile()
    profile.add(Stretch(BASE + 0x100, 7, 1, 0), 10, SYMBOLS)
    profile.add(Stretch(BASE + 0x120, 2, 0, 0), 5, SYMBOLS)
    assert (profile.instructions, profile.calls, profile.locked) == ({SEND: 80}, {SEND: 10}, {SEND: 10})
    assert not +profile.locks


def test_a_lock_counts_for_who_takes_it() -> None:
    """Not for the kernel's function, and not where something else is called, or jumped to."""
    profile = Profile()
    profile.add(Stretch(BASE + 0x108, 3, 0, BASE), 4, SYMBOLS)
    profile.add(Stretch(BASE + 0x110, 3, 0, BASE + 0x40), 4, SYMBOLS)
    profile.add(Stretch(BASE + 0x8, 3, 0, BASE + 0x4), 4, SYMBOLS)
    assert profile.locks == {SEND: 4}


def test_idle_time_is_not_busy() -> None:
    """By the kernel's name, whatever the compiler has made of it."""
    profile = Profile()
    profile.instructions.update({SEND: 80, "schedule": 5, "cpu_idle_poll": 300, "cpu_idle_poll.isra.0": 4000,
                                 "cpu_idle_poll_ctrl": 2})
    assert profile.busy == 87


def test_a_comparison_says_what_is_left_without_idle_time() -> None:
    """Of two rounds of a row, one of which waited longer."""
    profiles = [Profile(), Profile()]
    profiles[0].instructions.update({"schedule": 10_000, "cpu_idle_poll.isra.0": 5_000})
    profiles[1].instructions.update({"schedule": 9_000, SEND: 900, "cpu_idle_poll.isra.0": 9_000})
    workload = WORKLOADS[0]
    row = Row(workload, "3", tuple(Figure(profile=profile) for profile in profiles))
    shown = functions(row, (Side("one", "stock"), Side("other", "rpcordma")), Comparison(1, 0, 1, 1), 3)
    assert re.search(r"0\.9900  \(all, without idle time\)$", shown, re.MULTILINE)


def test_what_takes_a_lock() -> None:
    """By the kernel's names."""
    taking = ("_raw_spin_lock", "_raw_spin_lock_bh", "_raw_spin_trylock", "_raw_read_lock", "_raw_write_lock_irq",
              "mutex_lock", "mutex_lock_nested", "down_read", "down_write_killable")
    others = ("_raw_spin_unlock", "mutex_unlock", "up_read", "schedule", "lock_sock_nested")
    assert [name for name in taking + others if LOCK.fullmatch(name)] == list(taking)


def test_the_module_of_a_function() -> None:
    """Programs are one; the kernel itself is another."""
    assert [module_of(name) for name in (SEND, "schedule", "(programs)")] == ["rpcordma", "vmlinux", "(programs)"]
