# SPDX-License-Identifier: GPL-2.0-only
"""A virtual machine, and the channel over which it is told what to do."""

import functools
import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from lab.accel import acceleration
from lab.board import BOARDS
from lab.errors import CommandFailed, GuestDied, LabError, LabTimeout, WrongClock
from lab.kernel import Kernel
from lab.kernel_log import KernelMessage, complaints_in
from lab.module import guest_module
from lab.paths import CHECKOUT, GUEST_SCRIPTS
from lab.run import SIDE_BY_SIDE
from lab.system import guest_root

BOOT_SECONDS = 180
# For so long a clock is looked at, and it may be so far out. One that is wrong is so by a factor: on a busy host a
# kernel takes the processor's counter for slower than it is, and then every time limit in the guest is too short.
CLOCK_SECONDS = 0.5
CLOCK_TOLERANCE = 0.25
# Uptimes are in hundredths.
CLOCK_UNIT = 0.02


@dataclass(frozen=True)
class Result:
    """What a command in a guest came to."""

    command: str
    status: int
    stdout: str
    seconds: float


class Process:
    """A command that runs in a guest. Its output is standard output and error together."""

    def __init__(self, guest: "Guest", number: int, command: str):
        self.guest = guest
        self.number = number
        self.command = command
        self.output = ""
        self.status: int | None = None
        self.started = time.monotonic()

    def wait(self, timeout: float, show: Callable[[str], object] = lambda _: None) -> Result:
        """Waits until the command has ended, and kills it when that takes too long.

        `show` gets the output as it comes.
        """
        shown = 0

        def has_ended() -> bool:
            nonlocal shown
            show(self.output[shown:])
            shown = len(self.output)
            return self.status is not None
        try:
            self.guest.wait_for(has_ended, timeout, f"'{self.command}'")
        except LabTimeout as late:
            self.kill()
            raise LabTimeout(f"{late}; its output so far:\n{self.output}") from None
        assert self.status is not None
        return Result(self.command, self.status, self.output, time.monotonic() - self.started)

    def wait_while_it_speaks(self, silence: float, timeout: float) -> None:
        """Waits until the command has ended, and kills it when it has said nothing for so long, or takes too long."""
        deadline = time.monotonic() + timeout * self.guest.slowness
        try:
            while self.status is None:
                left = max(deadline - time.monotonic(), 0) / self.guest.slowness
                self._wait_for_more(min(silence, left))
        except LabTimeout:
            self.kill()
            raise

    def _wait_for_more(self, timeout: float) -> None:
        """Waits until there is more output, or the command has ended."""
        said = len(self.output)
        self.guest.wait_for(lambda: len(self.output) > said or self.status is not None, timeout,
                            f"more of '{self.command}'")

    def expect(self, pattern: str, timeout: float) -> re.Match[str]:
        """Waits until the output has a match for the pattern."""
        self.guest.wait_for(
            lambda: re.search(pattern, self.output) is not None or self.status is not None,
            timeout, f"/{pattern}/ in the output of '{self.command}'")
        match = re.search(pattern, self.output)
        if match is None:
            raise CommandFailed(f"'{self.command}' ended with status {self.status} and without "
                                f"/{pattern}/:\n{self.output}")
        return match

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Sends a signal to the command and to what it started."""
        self.guest.send(do="signal", id=self.number, signal=int(number))


@dataclass
class Hardware:
    """What a guest is made of, apart from its kernel."""

    memory: str = "1G"
    # Whose user space it has, where that is not the usual one.
    root: Path | None = None
    # Two machines of two, side by side on two processors, wait for their own locks: no faster than one after the other.
    processors: int = 1 if SIDE_BY_SIDE else 2
    # QEMU's options for the processors, where they shall not be the fastest that work here.
    processor_options: list[str] = field(default_factory=list)
    # Its clock counts something else than the host's time.
    has_own_time: bool = False
    disks: list[Path] = field(default_factory=list)
    network: list[str] = field(default_factory=list)
    kernel_options: str = ""
    console_on_terminal: bool = False


class Guest:
    """A virtual machine whose root is this machine's, or that of another Debian, read-only below a layer of its own."""

    def __init__(self, name: str, kernel: Kernel, logs: Path, hardware: Hardware | None = None):
        self.name = name
        self.kernel = kernel
        self.hardware = hardware or Hardware()
        self.board = BOARDS[kernel.architecture]
        self.root = self.hardware.root or guest_root(kernel.architecture)
        logs.mkdir(parents=True, exist_ok=True)
        self.console_log = logs / f"{name}.console.log"
        self.kernel_log_file = logs / f"{name}.dmesg.log"
        self.kernel_log: list[KernelMessage] = []
        # What is no complaint, though KASAN reported it; lockdep is off since.
        self.excused: list[KernelMessage] = []
        # How many times as long everything may take.
        self.slowness = 1
        self._complaints_seen = 0
        self._marks = 0
        self._processes: dict[int, Process] = {}
        self._commands_started = 0
        self._changed = threading.Condition()
        self._ready = False
        self._alive = False
        self._qemu: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._reader: threading.Thread | None = None

    # Life and death

    def start(self) -> None:
        """Switches the machine on; wait_until_ready() tells when it can be talked to."""
        ours, its = socket.socketpair()
        log: TextIO = self.kernel_log_file.open("a", encoding="utf-8")
        with its:
            # A machine must not outlive whoever started it, however that ends.
            self._qemu = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self._qemu_command(its.fileno())],
                pass_fds=[its.fileno()],
                stdin=None if self.hardware.console_on_terminal else subprocess.DEVNULL)
        self._channel = ours
        self._ready = False
        self._alive = True
        self._processes = {}
        self._reader = threading.Thread(target=self._receive, args=(ours, log), daemon=True)
        self._reader.start()

    def wait_until_ready(self, timeout: float = BOOT_SECONDS) -> None:
        """Waits until the agent in the guest answers."""
        self.wait_for(lambda: self._ready, timeout, "its agent")
        if not self._clock_is_right():
            print(f"lab: {self.name}: the kernel's clock is wrong; the machine is started anew", flush=True)
            self.kill()
            self.start()
            self.wait_for(lambda: self._ready, timeout, "its agent")
            if not self._clock_is_right():
                raise WrongClock(f"{self.name}: the kernel's clock is wrong, twice; is this host very busy? See "
                                 f"'tsc' in {self.console_log}")

    def _clock_is_right(self) -> bool:
        """Whether as much time passes in the guest as here, whatever the two looks at its clock take."""
        if self.hardware.has_own_time:
            return True
        begin = time.monotonic()
        before = self._uptime()
        inner = time.monotonic()
        time.sleep(CLOCK_SECONDS)
        inner = time.monotonic() - inner
        passed = self._uptime() - before
        outer = time.monotonic() - begin
        return inner * (1 - CLOCK_TOLERANCE) - CLOCK_UNIT <= passed <= outer * (1 + CLOCK_TOLERANCE) + CLOCK_UNIT

    def _uptime(self) -> float:
        """Seconds since the guest's kernel began."""
        return float(self.read("/proc/uptime").split()[0])

    def kill(self) -> None:
        """Pulls the plug."""
        if self._qemu:
            self._qemu.kill()
            self._ended()

    def shut_down(self, timeout: float = 60) -> None:
        """Switches the machine off, by force when it does not obey."""
        if not self._qemu:
            return
        try:
            self.send(do="poweroff")
            self.wait_for(lambda: not self._alive, timeout, "power-off", or_death=True)
        except LabError:
            pass
        self.kill()

    @property
    def alive(self) -> bool:
        """Whether the machine runs."""
        return self._alive

    def _ended(self) -> None:
        assert self._qemu and self._reader and self._channel
        self._qemu.wait()
        self._reader.join()
        self._channel.close()
        self._qemu = None

    def _qemu_command(self, channel: int) -> list[str]:
        hardware = self.hardware
        command = [
            self.board.qemu, *self.board.machine, *(hardware.processor_options or acceleration(self.kernel)),
            "-nodefaults", "-no-user-config", "-no-reboot",
            "-display", "none", "-smp", f"{hardware.processors},sockets={hardware.processors}", "-m", hardware.memory,
            "-kernel", str(self.kernel.image), "-initrd", str(self._initramfs()),
            "-append", self._kernel_command_line(),
            *self._shared_directory(self.root, "hostroot"),
            "-device", "virtio-rng-pci",
            "-device", "virtio-serial-pci",
            "-chardev", f"socket,id=agent,fd={channel}",
            "-device", "virtserialport,chardev=agent,name=rpcordma.agent",
            "-serial", "chardev:console"]
        console = f"id=console,logfile={self.console_log},logappend=on"
        if hardware.console_on_terminal:
            command += ["-chardev", f"stdio,signal=off,{console}"]
        else:
            command += ["-chardev", f"null,{console}"]
        for index, disk in enumerate(hardware.disks):
            command += ["-drive", f"if=none,id=disk{index},file={disk},format=raw,cache=unsafe",
                        "-device", f"virtio-blk-pci,drive=disk{index}"]
        for tag, (directory, _) in self._shares().items():
            command += self._shared_directory(directory, tag)
        return command + hardware.network

    @staticmethod
    def _shared_directory(directory: Path, tag: str) -> list[str]:
        return ["-virtfs", f"local,path={directory},mount_tag={tag},security_model=none,readonly=on,multidevs=remap"]

    def _shares(self) -> dict[str, tuple[Path, Path]]:
        """What the root lacks, by the tag under which the guest asks for it: the directory, and where it is there."""
        root, kernel = self.root, self.kernel
        shares = {}
        if root != Path("/"):
            shares["checkout"] = (CHECKOUT, CHECKOUT)
        modules = Path("lib/modules") / kernel.release
        if kernel.modules.resolve() != (root / modules).resolve():
            shares["modules"] = (kernel.modules, "/" / modules)
        return shares

    def _initramfs(self) -> Path:
        return self.kernel.initramfs([guest_module(self.kernel, name) for name in self.board.survives_by])

    def _kernel_command_line(self) -> str:
        return " ".join([
            f"console={self.board.console} loglevel=5 panic=-1 oops=panic net.ifnames=0 nokaslr mitigations=off",
            # An emulated processor that shares the host's is slow, not stuck.
            "watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120",
            "random.trust_cpu=on",
            *self.board.kernel_options,
            f"lab.init={GUEST_SCRIPTS / 'init'} lab.name={self.name}",
            *(f"lab.share={tag}:{place}" for tag, (_, place) in self._shares().items()),
            self.kernel.options, self.hardware.kernel_options])

    # Commands

    def spawn(self, command: str) -> Process:
        """Starts a shell command and returns at once."""
        return self._order(command, do="start", command=command)

    def run(self, command: str, timeout: float = 60, check: bool = True) -> Result:
        """Runs a shell command to its end; a status other than 0 is an error where checked."""
        result = self.spawn(command).wait(timeout)
        if check and result.status != 0:
            raise CommandFailed(f"{self.name}: '{command}' ended with status {result.status}:\n"
                                f"{result.stdout}")
        return result

    def _order(self, name: str, **order: object) -> Process:
        """Sends an order that is answered with output and an exit status."""
        with self._changed:
            self._commands_started += 1
            process = Process(self, self._commands_started, name)
            self._processes[process.number] = process
        self.send(id=process.number, **order)
        return process

    def output(self, command: str, timeout: float = 60) -> str:
        """The output of a command that has to succeed."""
        return self.run(command, timeout).stdout

    def script(self, name: str, *arguments: str, timeout: float = 120) -> str:
        """Runs one of the scripts in harness/guest."""
        return self.output(shlex.join([str(GUEST_SCRIPTS / name), *arguments]), timeout)

    @functools.cached_property
    def page_size(self) -> int:
        """Of the pages that its kernel has, in bytes."""
        return int(self.output("getconf PAGESIZE"))

    def write(self, path: str, text: str) -> None:
        """Writes a file in the guest."""
        quoted = shlex.quote(path)
        self.run(f"mkdir -p $(dirname {quoted}); printf %s {shlex.quote(text)} >{quoted}")

    def read(self, path: str) -> str:
        """Reads a text file in the guest."""
        result = self._order(f"read {path}", do="read", path=path).wait(60)
        if result.status != 0:
            raise CommandFailed(f"{self.name}: {path} cannot be read: {result.stdout}")
        return result.stdout

    # The kernel's log

    def note(self, text: str) -> str:
        """Has a line written into the guest's kernel log, without waiting for it."""
        self._marks += 1
        line = f"lab: mark {self._marks}: {text}"
        self.send(do="note", text=line)
        return line

    def mark(self, text: str) -> None:
        """Writes a line into the guest's kernel log, and waits until the log is here up to it."""
        line = self.note(text)
        self.wait_for(lambda: any(message.text == line for message in self.kernel_log[-400:]),
                      60, "the kernel's log")

    def complaints(self) -> list[str]:
        """What the kernel has complained of since the last time this was asked."""
        with self._changed:
            messages = self.kernel_log[self._complaints_seen:]
            self._complaints_seen = len(self.kernel_log)
        complaints, excused = complaints_in(messages)
        self.excused += excused
        return list(map(str, complaints))

    # The channel

    def wait_for(self, condition: Callable[[], bool], timeout: float, what: str,
                 or_death: bool = False) -> None:
        """Waits until a condition holds that messages from the guest can change."""
        timeout *= self.slowness
        with self._changed:
            happened = self._changed.wait_for(lambda: condition() or not self._alive, timeout)
            if happened and (condition() or or_death):
                return
            if not self._alive:
                raise GuestDied(f"{self.name} ended while {what} was waited for; its console:\n"
                                f"{self.console_tail()}")
            raise LabTimeout(f"{self.name}: waited {timeout:.0f} s in vain for {what}")

    def console_tail(self, lines: int = 60) -> str:
        """The last lines of the console's log."""
        text = self.console_log.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def send(self, **message: object) -> None:
        """Sends one message to the agent."""
        assert self._channel
        try:
            self._channel.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise GuestDied(f"{self.name} cannot be reached: {error}; its console:\n"
                            f"{self.console_tail()}") from None

    def _receive(self, channel: socket.socket, log: TextIO) -> None:
        """The reading thread: takes every message until the machine ends."""
        with log, channel.makefile("rb") as lines:
            try:
                for line in lines:
                    self._take(json.loads(line), log)
            except (OSError, ValueError) as error:
                print(f"lab: {self.name}: the channel broke: {error}", file=sys.stderr)
        with self._changed:
            self._alive = False
            self._changed.notify_all()

    def _take(self, message: dict, log: TextIO) -> None:
        with self._changed:
            kind = message["is"]
            if kind == "ready":
                self._ready = True
            elif kind == "kernel":
                record = KernelMessage(message["level"], message.get("time", 0), message["text"])
                self.kernel_log.append(record)
                log.write(f"{record}\n")
                log.flush()
            elif kind == "output":
                self._processes[message["id"]].output += message["text"]
            elif kind == "exit":
                self._processes.pop(message["id"]).status = message["status"]
            self._changed.notify_all()
