# SPDX-License-Identifier: GPL-2.0-only
"""The ordeal, as far as it needs no guest: what a seed chooses, the model of files, the load's progress, the log."""

import errno
import importlib.util
import json
import os
import random
import re
import subprocess
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from expectations import eventually
from lab.conformance import PATIENCE
from lab.errors import LabError
from lab.paths import CHECKOUT, GUEST_SCRIPTS
from ordeal import record as records
from ordeal.cli import arguments_of, begin_of, kinds_in
from ordeal.faults import KINDS
from ordeal.load import BUFFERED, DIRECT, ENOUGH, Load, Worker, longest_gap, longest_quiet_gap
from ordeal.record import Happened, Record
from ordeal.run import BEGIN_SECONDS, QUIET_STALL, Run, is_kept, may_replay, possible_kinds
from ordeal.schedule import Cell, faults

CELL = Cell("6.12", "7.3", "4.2", "2", "xfs")


# What a seed chooses

def test_a_seed_chooses_the_same_faults_each_time() -> None:
    """Their kinds, their order, and what each kind leaves open; another seed chooses others."""
    first, again, other = (list(islice(faults(seed, list(KINDS)), 40)) for seed in (7, 7, 8))
    assert first == again
    assert [fault.kind for fault in first] != [fault.kind for fault in other]
    assert [fault.draw().random() for fault in first] == [fault.draw().random() for fault in again]
    assert len({fault.draw().random() for fault in first}) == len(first)


def test_each_kind_comes_once_before_any_comes_again() -> None:
    """A short run has as many kinds as it can."""
    kinds = [fault.kind for fault in islice(faults(3, list(KINDS)), 3 * len(KINDS))]
    for begin in range(0, len(kinds), len(KINDS)):
        assert Counter(kinds[begin:begin + len(KINDS)]) == Counter(KINDS.keys())


def test_what_is_fixed_changes_nothing_else() -> None:
    """The command that repeats a run names the whole cell, and has the same faults."""
    for seed in range(20):
        drawn = Cell.of(seed)
        fixed = Cell.of(seed, nfs="3")
        assert (fixed.server, fixed.client, fixed.protocol, fixed.export) == (
            drawn.server, drawn.client, drawn.protocol, drawn.export)
        words = fixed.options().split()
        arguments = arguments_of(words)
        assert Cell.of(seed + 1, **{name: getattr(arguments, name) for name in vars(fixed)}) == fixed


def test_seeds_reach_every_kernel_and_version() -> None:
    """On either side."""
    cells = [Cell.of(seed) for seed in range(100)]
    assert {(cell.server, cell.client) for cell in cells} == {(one, other) for one in ("6.12", "7.3")
                                                              for other in ("6.12", "7.3")}
    assert {(cell.nfs, cell.protocol) for cell in cells} == {(nfs, protocol) for nfs in ("3", "4.0", "4.1", "4.2")
                                                             for protocol in ("1", "2")}


def test_seeds_reach_both_modules_and_kerberos() -> None:
    """At either end; with NFS 4.0 there is no Kerberos, whatever is asked for."""
    cells = [Cell.of(seed) for seed in range(100)]
    assert {cell.ours for cell in cells} == {"both", "client", "server"}
    assert {cell.security for cell in cells} == {"sys", "krb5", "krb5i", "krb5p"}
    assert {cell.security for cell in cells if cell.nfs == "4.0"} == {"sys"}
    assert Cell.of(1, nfs="4.0", security="krb5").security == "sys"
    shown = str(replace(CELL, ours="client", security="krb5p"))
    assert shown.endswith(", xfs, krb5p, our module at the client only")


def test_test_kernels_have_what_they_can() -> None:
    """No disk, no swap, and no other module; all else is as the seed chooses it."""
    for seed in range(20):
        stock, sanitized = Cell.of(seed), Cell.of(seed, flavour="debug")
        assert replace(sanitized, flavour=stock.flavour, export=stock.export, ours=stock.ours,
                       security=stock.security) == stock
        assert (sanitized.export, sanitized.ours, sanitized.security) == ("tmpfs", "both", "sys")
        assert "debug" in str(sanitized)
        left_out = KINDS.keys() - possible_kinds(sanitized)
        assert left_out == {"server-crashed", "swap"}
        assert KINDS.keys() - possible_kinds(replace(sanitized, flavour="kcsan")) == left_out | {"memory-injected"}


def test_any_cell_has_most_kinds() -> None:
    """All but those for which it lacks something."""
    def left_out(**different: str) -> set[str]:
        return KINDS.keys() - possible_kinds(replace(CELL, **{"export": "ext4"} | different)) - need_test_kernels

    need_test_kernels = {"memory-injected", "sunrpc-injected"}
    assert left_out() == set()
    assert need_test_kernels.isdisjoint(possible_kinds(CELL))
    network = {"impaired-network", "blackout", "link-down", "address-removed"}
    assert left_out(ours="client") == network | {"module-reloaded", "hostile-peer", "changed-messages"}
    assert left_out(ours="server") == network | {"changed-replies", "swap"}
    assert left_out(security="krb5p") == {"server-crashed", "changed-replies", "swap"}
    for other in ("tmpfs", "xfs"):
        assert left_out(export=other) == {"server-crashed"}


def test_a_stall_may_be_as_long_as_its_fault_and_the_limit() -> None:
    """A kind beside which the load goes on has the limit alone, however long it takes."""
    assert KINDS["link-down"].longest_stall(30.0, 1) == 90.0
    assert KINDS["link-down"].longest_stall(30.0, 3) == 210.0
    assert KINDS["client-disconnect"].longest_stall(300.0, 1) == 30.0
    assert KINDS["changed-replies"].longest_stall(432.0, 3) == 90.0
    assert {name for name, kind in KINDS.items() if kind.halts} == {
        "impaired-network", "blackout", "link-down", "address-removed", "device-removed", "nfsd-restarted",
        "server-crashed", "module-reloaded", "swap", "memory-pressure"}


def test_faults_that_cannot_be_had_are_left_out() -> None:
    """XFS does not keep all through a crash; that a run would have no fault at all is an error."""
    assert kinds_in(CELL, arguments_of([]).faults) == possible_kinds(CELL)
    assert kinds_in(CELL, ["server-crashed", "nfsd-restarted"]) == ["nfsd-restarted"]
    assert "server-crashed" in kinds_in(replace(CELL, export="ext4"), ["server-crashed"])
    with pytest.raises(LabError, match="none of these faults"):
        kinds_in(CELL, ["server-crashed"])


def test_the_limits_are_written_down() -> None:
    """Documentation/ordeal.rst has each kind with its limit, and no other."""
    text = (CHECKOUT / "Documentation" / "ordeal.rst").read_text(encoding="utf-8")
    written = dict(re.findall(r"^``([a-z-]+)`` +(\d+) s ", text, re.MULTILINE))
    assert written == {name: str(kind.limit) for name, kind in KINDS.items()}


# The model

def load_model() -> Any:
    """The guest's program as a module."""
    spec = importlib.util.spec_from_file_location("model", GUEST_SCRIPTS / "model.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(name="model")
def fixture_model(tmp_path: Path) -> Any:
    """A model that has worked for a while, and has a file with something in it."""
    module = load_model()
    model = module.Model(tmp_path / "top", "1", direct=False, locks=True)
    model.top.mkdir()
    for _ in range(400):
        model.step()
    model.create()
    if model.locked:
        model.unlock()
    return SimpleNamespace(model=model, wrong=module.Wrong, top=tmp_path / "top",
                           file=max(model.files, key=lambda name: len(model.files[name])))


def test_a_tree_that_is_right_is_right(model: Any) -> None:
    """Each operation has been used, and all that is there agrees."""
    used = {line.split(": ")[1].split()[0] for line in model.model.done}
    assert len(used) > 5
    model.model.check_all()
    assert model.model.replayed == 0


@pytest.mark.parametrize("kind", ["a byte", "the end", "a file less", "a file more", "a directory more"])
def test_the_model_sees_what_is_wrong(model: Any, kind: str) -> None:
    """A changed byte, another length, and another name."""
    path = model.top / model.file
    content = bytearray(path.read_bytes())
    if kind == "a byte":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    elif kind == "the end":
        path.write_bytes(content + b"\0")
    elif kind == "a file less":
        path.unlink()
    elif kind == "a directory more":
        (model.top / "another").mkdir()
    else:
        (model.top / "other").write_bytes(b"")
    with pytest.raises(model.wrong):
        model.model.check_all()


def test_names_come_again(model: Any) -> None:
    """What is carried out late meets another file of the same name."""
    made: list[str] = []
    while len(set(made)) == len(made):
        model.model.remove()
        model.model.create()
        made.append(model.model.done[-1].split()[2])
        assert len(made) < 1000
    model.model.check_all()


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOTEMPTY])
def test_a_directory_with_files_stays_for_that_reason(model: Any, monkeypatch: pytest.MonkeyPatch,
                                                      error: int) -> None:
    """Another error is none of that."""
    def fail(path: Path) -> None:
        raise OSError(error, os.strerror(error))

    model.model.directories = {".", "d1"}
    model.model.files = {"d1/f1": bytearray()}
    monkeypatch.setattr(os, "rmdir", fail)
    with nullcontext() if error == errno.ENOTEMPTY else pytest.raises(OSError, match=os.strerror(error)):
        model.model.remove_directory()


def test_what_was_done_twice_is_counted(model: Any, monkeypatch: pytest.MonkeyPatch,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    """The answer to a second REMOVE says that there is no such file: it is gone all the same."""
    unlink = os.unlink

    def twice(path: Path) -> None:
        unlink(path)
        unlink(path)
    monkeypatch.setattr(os, "unlink", twice)
    before = time.monotonic()
    model.model.remove()
    assert model.model.replayed == 1
    model.model.list_all()
    (at,) = told_by(capsys.readouterr().out).replayed()
    assert before - 1 < at < time.monotonic() + 1


# Progress

def worker(output: str, name: str = "model-cached") -> Worker:
    """One whose process has said this."""
    return Worker(name, SimpleNamespace(output=output, status=None))  # type: ignore[arg-type]


def told_by(output: str) -> Load:
    """A load whose one worker has said this."""
    load = Load.__new__(Load)
    load.workers = [worker(output)]
    return load


def test_progress_is_read_as_it_comes() -> None:
    """A line counts when it is whole, and once."""
    one = worker("step 1 at 10.00\nround 2 at 11.5")
    assert one.progress() == [10.0]
    one.process.output += "0\nwrong: step 3 at 12.00\nstep 4 at 13.00\n"
    assert one.progress() == [10.0, 11.5, 13.0]
    assert one.progress() == [10.0, 11.5, 13.0]
    assert one.since(11.5) == [13.0]
    assert ENOUGH == 2, "what was said first after a fault may have been done before it"


def test_the_longest_gap_reaches_into_the_span() -> None:
    """Also one that begins before it, or ends behind it; others do not count."""
    times = [0.0, 5.0, 6.0, 7.0, 10.0, 11.0, 30.0]
    assert longest_gap(times, 5.5, 7.0) == 1.0
    assert longest_gap(times, 5.5, 8.0) == 3.0
    assert longest_gap(times, 2.0, 7.0) == 5.0
    assert longest_gap([], 0.0, 1.0) == 0.0


def test_the_longest_quiet_gap_is_between_the_faults() -> None:
    """One that a fault begins, ends or lies in does not count."""
    times = [0.0, 8.0, 10.0, 40.0, 45.0, 90.0]
    assert longest_quiet_gap(times, []) == 45.0
    assert longest_quiet_gap(times, [(12.0, 30.0), (50.0, 60.0)]) == 8.0
    assert longest_quiet_gap(times, [(9.0, 11.0), (46.0, 100.0)]) == 8.0
    assert longest_quiet_gap(times, [(1.0, 2.0), (12.0, 30.0), (50.0, 60.0)]) == 5.0
    assert longest_quiet_gap(times, [(0.0, 100.0)]) == longest_quiet_gap([3.0], []) == 0.0


def test_what_is_done_twice_needs_a_server_that_forgot() -> None:
    """Then, and not at another time of the run; a server forgets if its own memory is needed, not the client's."""
    def happened(kind: str, what: str = "") -> Happened:
        return Happened(1, kind, what, 1, 100.0, 5.0, 2.0, 7.0, 80.0)

    crashed = happened("server-crashed")
    assert [may_replay(crashed, at) for at in (99.0, 100.0, 106.9, 107.1)] == [False, True, True, False]
    assert may_replay(happened("memory-pressure", "9 MiB of 10 MiB taken in the server"), 101.0)
    assert not may_replay(happened("memory-pressure", "9 MiB of 10 MiB taken in the client"), 101.0)
    assert not may_replay(happened("client-disconnect"), 101.0)


@pytest.mark.parametrize("slowness", [1, 3])
def test_the_load_does_not_stand_still_between_faults(slowness: int) -> None:
    """From where the fault before was over; the longest time is on record."""
    longest = QUIET_STALL * slowness
    run = a_run(a_record(1), slowness)
    run._watched = 300.0
    times = (10.0, 300.0, 301.0, 301.0 + longest, 302.0 + 2 * longest)
    load = told_by("".join(f"step 1 at {at}\n" for at in times))
    run._has_not_stood_still(load, 301.0 + longest)
    assert run.record.quiet_stall == longest
    with pytest.raises(AssertionError, match="stood still"):
        run._has_not_stood_still(load, 302.0 + longest)


def test_fio_has_the_sizes_that_it_is_given(tmp_path: Path) -> None:
    """And those of its own only where it is given none: of two fio would have the first."""
    def sizes(*words: str) -> list[str]:
        stop.unlink(missing_ok=True)
        ran = subprocess.run([GUEST_SCRIPTS / "verified-io", "file", "2M", stop, *words], capture_output=True,
                             text=True, check=True, env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
        return [word for word in ran.stdout.split() if word.startswith("--bs")]

    stop, fio = tmp_path / "stop", tmp_path / "fio"
    fio.write_text(f"#!/bin/sh\ntouch {stop}; echo \"$@\"\n", encoding="utf-8")
    fio.chmod(0o755)
    assert sizes() == ["--bsrange=4k-128k"]
    for options in (*DIRECT, *BUFFERED):
        words = options.split()
        assert sizes(*words) == [word for word in words if word.startswith("--bs")] != []


def a_run(record: Record, slowness: int = 1) -> Run:
    """One whose guests are not there."""
    pair = SimpleNamespace(client=SimpleNamespace(slowness=slowness))
    return Run(pair, record, lambda _: None)  # type: ignore[arg-type]


@pytest.mark.parametrize("slowness", [1, 3])
def test_the_limit_is_longer_where_rounds_take_long(slowness: int) -> None:
    """By two of the longest rounds without a fault, and by no more than the load may take to begin."""
    times = {"fio-direct": [0.0, 9.0, 17.0, 21.0, 80.0, 84.0], "model-cached": [0.0, 0.1, 0.2]}
    load = Load.__new__(Load)
    load.workers = [worker("".join(f"round 1 at {at:.2f}\n" for at in lines), name) for name, lines in times.items()]
    record = a_record(1)
    # What follows it, until the load went on, counts as little.
    record.faults = [Happened(1, "blackout", "dark", 1, 18.0, 1.0, 2.5, 7.0, 80.0)]
    assert a_run(record, slowness)._pace(load) == ENOUGH * 9.0 / slowness
    record.faults = []
    assert a_run(record)._pace(load) == ENOUGH * 59.0
    load.workers.append(worker("round 1 at 0.00\nround 2 at 500.00\n", "fio-buffered"))
    assert a_run(record, slowness)._pace(load) == BEGIN_SECONDS


@pytest.mark.parametrize("measured, taken", [([90.0, 1.0], 90.0), ([1.0, 2.0, 90.0], 90.0),
                                             ([1.0, 2.0, 3.0, 90.0], 3.0)])
def test_a_throughput_that_is_low_for_a_while_is_measured_again(monkeypatch: pytest.MonkeyPatch, measured: list[float],
                                                                taken: float) -> None:
    """And one that stays low is not kept."""
    figures = iter(measured)
    monkeypatch.setattr(Run, "_throughput", lambda run, mount: {"calls": next(figures)})
    record = a_record(1)
    found = a_run(record)._throughput_at_last(SimpleNamespace())  # type: ignore[arg-type]
    assert found["calls"] == taken
    assert is_kept(record.throughput[0], found) == (taken == 90.0)


# The log

def a_record(seed: int, outcome: str = records.PASSED, minutes: float = 8.0) -> Record:
    """A run with three faults."""
    return Record(seed, CELL, "abc", "2026-01-02 03:04:05", minutes, outcome, faults=[
        Happened(1, "blackout", "dark", 1, 100.0, 5.0, 2.0, 7.0, 80.0),
        Happened(2, "client-disconnect", "3 disconnects", 3, 110.0, 5.0, 2.0, 1.0, 100.0),
        Happened(3, "client-disconnect", "4 disconnects", 4, 120.0, 5.0, 2.0, 1.5, 90.0)],
        work={"steps": 100, "replayed": 1, "rounds": 9}, throughput=[{"calls": 100.0, "mebibytes": 1.0}] * 2,
        memory=[(90, 500, 600)])


def test_the_log_does_not_say_where_the_checkout_was(tmp_path: Path) -> None:
    """Commands that fail have its path."""
    log = tmp_path / "log.jsonl"
    records.append(a_record(1, f"failed: '{CHECKOUT}/scripts/x' ended with status 1"), log)
    assert records.read(log)[0]["outcome"] == "failed: 'scripts/x' ended with status 1"


def test_the_log_keeps_counts_and_longest_stalls(tmp_path: Path) -> None:
    """Of each kind the faults, what they were about, and the longest stall."""
    log = tmp_path / "log.jsonl"
    records.append(a_record(1), log)
    records.append(a_record(2, "failed: it hangs\nand more"), log)
    assert "SPDX-License-Identifier" in log.read_text(encoding="utf-8").splitlines()[0]
    one, other = records.read(log)
    assert one["faults"] == {"blackout": [1, 1, 7.0, 2.0], "client-disconnect": [2, 7, 1.5, 2.0]}
    assert (one["seed"], one["nfs"], one["minutes"], one["steps"]) == (1, "4.2", 8.0, 100)
    assert other["outcome"] == "failed: it hangs ... and more"


def test_the_log_says_what_was_found() -> None:
    """Also where a worker or a kernel has said much before."""
    said = "failed: the load has ended: model: step 1 at 1.0\nstep 2 at 2.0\nwrong: Wrong: f1 differs\n  1: write"
    assert records.headline(said) == "failed: the load has ended: model: step 1 at 1.0 ... wrong: Wrong: f1 differs"
    said = "failed: fault 3 (disk-full): a kernel complained:\nclient: [1.0] BUG: KASAN: use-after-free"
    assert records.headline(said).endswith("complained: ... client: [1.0] BUG: KASAN: use-after-free")


def test_hours_and_faults_of_runs_that_passed_are_added_up(tmp_path: Path) -> None:
    """Those that failed are shown, and count for nothing."""
    log = tmp_path / "log.jsonl"
    sanitized = replace(a_record(4, minutes=12.0), cell=Cell.of(4, flavour="debug"))
    for record in (a_record(1, minutes=30.0), a_record(2, minutes=60.0), a_record(3, "failed: it hangs"), sanitized):
        records.append(record, log)
    lines = records.read(log)
    # As lines were before there was a choice.
    del lines[0]["flavour"]
    shown = records.summary(lines)
    assert ("4 runs, 3 passed; hours in those that passed: 1.5 of 24 with Debian's kernels, 0.2 of 24 with test kernels"
            in shown.splitlines())
    assert "seeds that passed: 1 2 4\n" in shown
    assert re.search(r"client-disconnect +6 +21 +1000 +1.5 s", shown)
    assert "failed: it hangs" in shown
    assert "tmpfs, test kernels (debug)" in shown


def test_a_record_of_its_own_has_everything(tmp_path: Path) -> None:
    """As JSON."""
    written = json.loads(a_record(5).write(tmp_path).read_text(encoding="utf-8"))
    assert written["faults"][1]["what"] == "3 disconnects"
    assert written["cell"]["server"] == "6.12"


def test_memory_is_shown_as_bars() -> None:
    """From the least to the most."""
    assert records.plot([100, 200, 150], "MiB") == "▁█▄ 100 to 200 MiB"
    assert records.plot([7, 7], "MiB") == "▁▁ 7 to 7 MiB"


def test_calls_are_shown_with_each_fault() -> None:
    """But not for runs that were logged before they were counted."""
    line = a_record(1).line()
    assert "calls a second 100 to 100, with the faults ▁█▄ 80 to 100 calls\n" in records.described(line)
    del line["calls"]
    assert "calls a second 100 to 100\n" in records.described(line)


@pytest.mark.parametrize("slowness", [1, 5])
def test_a_hostile_peer_has_patience_with_a_slow_kernel(monkeypatch: pytest.MonkeyPatch, slowness: int) -> None:
    """As much as in the conformance suite; what it may take in all is the guest's to know."""
    commands = []
    monkeypatch.setattr("ordeal.faults.Peer", lambda guest: SimpleNamespace(
        run=lambda *words, **how: commands.append(words) or SimpleNamespace(status=0)))
    pair = SimpleNamespace(client=SimpleNamespace(slowness=slowness), SERVER_ADDRESS="10.9.0.1")
    KINDS["hostile-peer"].act(pair, random.Random(1))  # type: ignore[arg-type]
    (words,) = commands
    assert words[words.index("--patience") + 1] == str(PATIENCE * slowness)


def test_what_is_looked_for_has_longer_with_a_slow_kernel() -> None:
    """In the guest too, where the command itself has an end."""
    ran = []
    guest = SimpleNamespace(slowness=5, run=lambda command, timeout: ran.append((command, timeout)))
    eventually(guest, "test -e /file", 180)  # type: ignore[arg-type]
    # The guest's own commands have five times as long anyway.
    assert ran == [("timeout 900 sh -c 'until test -e /file; do sleep 0.1; done'", 210)]


def test_calls_are_those_since_the_fault_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a second of the client's."""
    times, sent = iter((100.0, 110.0, 130.0)), iter((1000, 1500, 1600))
    monkeypatch.setattr("ordeal.run.uptime", lambda guest: next(times))
    mount = SimpleNamespace(stats=lambda: SimpleNamespace(total=lambda name: next(sent)))
    run = a_run(a_record(1))
    found = [run._calls_since_last(mount) for _ in range(3)]  # type: ignore[arg-type]
    assert found == [10.0, 50.0, 5.0]


def test_a_run_that_is_resumed_goes_on_behind_what_passed() -> None:
    """What the log has of these seeds counts; one that failed is done again."""
    lines = [a_record(seed, minutes=10.0).line() for seed in (4, 5, 6, 8)]
    lines[2]["outcome"] = "failed: it hangs"
    assert begin_of(arguments_of(["--hours", "1", "--seed", "5", "--resume"]), lines) == (6, 50.0)
    assert begin_of(arguments_of(["--hours", "1", "--seed", "5"]), lines) == (5, 60.0)
    assert begin_of(arguments_of(["--minutes", "3"]), lines) == (9, 3.0)
    # Those with other kernels or faults do not count.
    other = ["--hours", "1", "--seed", "5", "--resume"]
    assert begin_of(arguments_of([*other, "--flavour", "debug"]), lines) == (5, 60.0)
    assert begin_of(arguments_of([*other, "--faults", "blackout"]), lines) == (5, 60.0)
    lines[1]["kinds"] = ["blackout"]
    assert begin_of(arguments_of([*other, "--faults", "blackout"]), lines) == (6, 50.0)


def test_kinds_that_there_are_not_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """And those that there are are named."""
    with pytest.raises(SystemExit):
        arguments_of(["--faults", "blackout,earthquake"])
    assert "there is no earthquake" in capsys.readouterr().err
    assert arguments_of(["--faults", "blackout"]).faults == ["blackout"]
