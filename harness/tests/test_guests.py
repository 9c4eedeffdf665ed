# SPDX-License-Identifier: GPL-2.0-only
"""What the lab itself has to be able to do."""

import os
import pty
import re
import select
import shlex
import subprocess
import sys
import time

import pytest
from conftest import LOG_DIRECTORY
from workloads import TRACE, TRACING

from lab import Guest, Hardware, Pair, WrongClock
from lab.accel import acceleration
from lab.board import BOARDS
from lab.paths import CHECKOUT

pytestmark = [pytest.mark.about("client"), pytest.mark.clients("6.12", "7.3"), pytest.mark.once_per_pair]

# What switches between tasks while it changes how they are switched between, until a breakpoint was met that is gone;
# then until no more are met for a second. Prints how many.
CHANGE_CODE = """
count() { read -r survived </sys/module/stale_breakpoint/parameters/survived; }
yes | cat >/dev/null &
yes | cat >/dev/null &
for try in $(seq 30); do
    count
    [ "$survived" -eq 0 ] || break
    for enabled in 1 0; do echo $enabled >/sys/kernel/tracing/events/sched/sched_switch/enable; done
done
for try in $(seq 30); do
    before=$survived
    sleep 1
    count
    [ "$survived" -ne "$before" ] || break
done
kill $(jobs -p)
[ "$survived" -eq "$before" ] && echo "$survived"
"""


def test_an_emulated_machine_survives_its_emulator(pair: Pair) -> None:
    """Code that is changed while it runs has emulated processors meet breakpoints that are gone, but not for long."""
    board = pair.client.board
    if not board.survives_by or acceleration(pair.client.kernel) != board.tcg or qemu_version() >= (8, 1):
        pytest.skip("nothing to survive: QEMU 8.1 mended that, and KVM never had it")
    survived = pair.client.output(f"bash -c {shlex.quote(CHANGE_CODE)}", timeout=300)
    if int(survived) == 0:
        pytest.skip("none was met this time")


# Its kernel takes the processor's counter for as slow as no processor's is.
WRONG_CLOCK = "no-kvmclock tsc_early_khz=300000"


def test_a_machine_whose_clock_is_wrong_is_started_anew(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    """All time limits in it would be too short; where it is wrong again, nothing is tested there."""
    if pair.client.board is not BOARDS["amd64"]:
        pytest.skip("the clock of an arm64 machine says its own frequency")
    guest = Guest("wrong-clock", pair.client.kernel, LOG_DIRECTORY, Hardware(memory="512M", kernel_options=WRONG_CLOCK))
    guest.start()
    try:
        with pytest.raises(WrongClock, match="wrong, twice"):
            guest.wait_until_ready()
    finally:
        guest.kill()
    assert capsys.readouterr().out.count("the machine is started anew") == 1


def test_packets_that_arrive_are_of_no_page_pool(pair: Pair) -> None:
    """soft-RoCE would deadlock when it frees them: Documentation/testing.rst says where."""
    client = pair.client
    client.run(f"echo 'page_pool_*' >{TRACING}/set_ftrace_filter && echo >{TRACE} && "
               f"echo function >{TRACING}/current_tracer")
    # Nobody listens there, and the server's kernel says so.
    answer = client.run(f"bash -c 'exec 3<>/dev/udp/{pair.SERVER_ADDRESS}/9 && echo >&3 && read -t 30 -u 3' 2>&1",
                        check=False).stdout
    called = client.output(f"grep -v '^#' {TRACE} || true")
    client.run(f"echo nop >{TRACING}/current_tracer && echo >{TRACING}/set_ftrace_filter")
    assert "Connection refused" in answer, answer
    assert called == ""


def qemu_version() -> tuple[int, ...]:
    """The first two numbers of it."""
    shown = subprocess.run([BOARDS["amd64"].qemu, "--version"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"version (\d+)\.(\d+)", shown)
    assert found
    return tuple(map(int, found.groups()))


# What scripts/vm may take: to boot two machines and to mount; and for a command.
BOOT_SECONDS = 400
COMMAND_SECONDS = 60


@pytest.mark.clients("6.12")
def test_a_shell_has_the_terminal_and_the_mount(pair: Pair) -> None:
    """scripts/vm shell --mount: what is typed is carried out in the client, which has the export."""
    terminal, others = pty.openpty()
    command = [sys.executable, CHECKOUT / "scripts" / "vm", "shell", "--memory", "1G", "--mount", "4.2",
               "--kernel", pair.client.kernel.series, "--server-kernel", pair.server.kernel.series]
    with subprocess.Popen(command, stdin=others, stdout=others, stderr=others, start_new_session=True) as shell:
        os.close(others)
        try:
            assert "over NFS 4.2" in read_until(terminal, r"[#$] $", BOOT_SECONDS)
            os.write(terminal, b"stat -f -c type=%T /mnt\r")
            assert "type=nfs" in read_until(terminal, r"type=\S+\s.*[#$] $", COMMAND_SECONDS)
            os.write(terminal, b"exit\r")
            read_until(terminal, None, COMMAND_SECONDS)
            assert shell.wait(COMMAND_SECONDS) == 0
        finally:
            shell.kill()
            os.close(terminal)


def read_until(terminal: int, pattern: str | None, seconds: float) -> str:
    """What comes from a terminal, up to something, or up to its end."""
    text, deadline = "", time.monotonic() + seconds
    while pattern is None or not re.search(pattern, text, re.DOTALL):
        assert select.select([terminal], [], [], max(deadline - time.monotonic(), 0))[0], f"nothing more than {text}"
        try:
            text += os.read(terminal, 4096).decode(errors="replace")
        except OSError:
            # Nobody has the other end any more.
            assert pattern is None, text
            break
    return text
