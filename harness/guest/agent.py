# SPDX-License-Identifier: GPL-2.0-only
"""The guest's end of the channel to the host.

Messages are lines of JSON over a virtio-serial port. From the host:

    {"do": "start", "id": 7, "command": "mount -a"}    run a shell command in a session of its own
    {"do": "signal", "id": 7, "signal": 9}             send a signal to that whole session
    {"do": "read", "id": 8, "path": "/proc/mounts"}    send a file's contents, as a command's output
    {"do": "note", "text": "here a test begins"}       write a record into the kernel's log
    {"do": "poweroff"}

From the guest:

    {"is": "ready"}
    {"is": "output", "id": 7, "text": "..."}           standard output and error, as they come
    {"is": "exit", "id": 7, "status": 0}               128 + N where signal N ended it
    {"is": "kernel", "level": 4, "text": "..."}        one record of the kernel's log
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

PORT_NAME = "rpcordma.agent"
UEVENTS = 15  # NETLINK_KOBJECT_UEVENT


def open_port() -> int:
    """Opens the port, which may take the driver a moment to announce."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, UEVENTS) as events:
        events.bind((0, 1))
        while True:
            for name in Path("/sys/class/virtio-ports").glob("*/name"):
                if name.read_text().strip() == PORT_NAME:
                    return os.open(f"/dev/{name.parent.name}", os.O_RDWR)
            events.recv(65536)


class Command:
    """A running shell command."""

    def __init__(self, number: int, command: str):
        self.number = number
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True)
        self.output = self.process.stdout.fileno()
        os.set_blocking(self.output, False)
        self.exited = os.pidfd_open(self.process.pid)

    def read(self) -> bytes:
        """What was written since the last time; nothing when there is nothing."""
        try:
            return os.read(self.output, 65536)
        except BlockingIOError:
            return b""

    def finish(self) -> int:
        """Reaps the process; a daemon that it left behind may keep the pipe's other end."""
        status = self.process.wait()
        self.process.stdout.close()
        os.close(self.exited)
        return status if status >= 0 else 128 - status


class Agent:
    """One thread that waits for the port, the kernel's log and the commands at once."""

    def __init__(self, port: int):
        self.port = port
        self.received = b""
        self.kernel_log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        self.commands: dict[int, Command] = {}
        self.actions = {}
        self.poll = select.poll()

    def watch(self, descriptor: int, action) -> None:
        """Calls the action whenever the descriptor has something."""
        self.actions[descriptor] = action
        self.poll.register(descriptor, select.POLLIN)

    def forget(self, descriptor: int) -> None:
        """Undoes watch()."""
        if self.actions.pop(descriptor, None):
            self.poll.unregister(descriptor)

    def send(self, **message) -> None:
        """Sends one message to the host."""
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self.port, data):]

    def serve(self) -> None:
        """Runs until the machine is switched off."""
        self.watch(self.port, self.take_orders)
        self.watch(self.kernel_log, self.pass_kernel_log)
        self.send(**{"is": "ready"})
        while True:
            for descriptor, _ in self.poll.poll():
                action = self.actions.get(descriptor)
                if action:
                    action()

    def take_orders(self) -> None:
        """Reads what the host sent, and obeys each complete line."""
        data = os.read(self.port, 65536)
        if not data:
            sys.exit("the host has gone")
        *lines, self.received = (self.received + data).split(b"\n")
        for line in lines:
            order = json.loads(line)
            getattr(self, "do_" + order.pop("do"))(**order)

    def do_start(self, id: int, command: str) -> None:  # pylint: disable=redefined-builtin
        """Starts a command."""
        started = Command(id, command)
        self.commands[id] = started
        self.watch(started.output, lambda: self.pass_output(started))
        self.watch(started.exited, lambda: self.pass_exit(started))

    def do_signal(self, id: int, signal: int) -> None:  # pylint: disable=redefined-builtin
        """Sends a signal to a command's session."""
        if id in self.commands:
            try:
                os.killpg(self.commands[id].process.pid, signal)
            except ProcessLookupError:
                pass

    def do_read(self, id: int, path: str) -> None:  # pylint: disable=redefined-builtin
        """Does as cat would; to start that takes most of the time."""
        try:
            text, status = Path(path).read_text(errors="replace"), 0
        except OSError as error:
            text, status = f"{error}\n", 1
        self.send(**{"is": "output", "id": id, "text": text})
        self.send(**{"is": "exit", "id": id, "status": status})

    def do_note(self, text: str) -> None:
        """Writes into the kernel's log."""
        Path("/dev/kmsg").write_text(f"{text}\n")

    def do_poweroff(self) -> None:
        """Ends the agent, and with it the machine."""
        sys.exit(0)

    def pass_output(self, command: Command) -> bool:
        """Sends the host what a command wrote."""
        data = command.read()
        if not data:
            self.forget(command.output)
            return False
        self.send(**{"is": "output", "id": command.number, "text": data.decode(errors="replace")})
        return True

    def pass_exit(self, command: Command) -> None:
        """Sends the rest of the output, then the exit status."""
        while self.pass_output(command):
            pass
        self.forget(command.exited)
        del self.commands[command.number]
        status = command.finish()
        self.send(**{"is": "exit", "id": command.number, "status": status})

    def pass_kernel_log(self) -> None:
        """Sends the next record of the kernel's log."""
        try:
            record = os.read(self.kernel_log, 8192).decode(errors="replace")
        except BrokenPipeError:  # Records were overwritten before they were read.
            self.send(**{"is": "kernel", "level": 4, "text": "(lab: records were lost here)"})
            return
        head, _, text = record.partition(";")
        priority, _, microseconds = head.split(",")[:3]
        self.send(**{"is": "kernel", "level": int(priority) & 7, "time": int(microseconds) / 1e6,
                     "text": text.split("\n")[0]})


if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    Agent(open_port()).serve()
