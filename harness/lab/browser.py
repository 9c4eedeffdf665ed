# SPDX-License-Identifier: GPL-2.0-only
"""A headless Chromium, driven by the DevTools protocol over a pair of pipes."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from lab.errors import LabError, LabTimeout

PROGRAMS = ("chromium-headless-shell", "chromium")
# Of a page or an answer, on a machine with other work.
PATIENCE = 30
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
           "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
           "--remote-debugging-pipe")
# The browser's ends of the pipes are 3 and 4. Ours are above, so that no redirection overwrites one that is needed.
FIRST_DESCRIPTOR = 10
LAUNCHER = 'commands=$1 answers=$2; shift 2; exec "$@" 3<&"$commands" 4>&"$answers"'
HEIGHT = 900


def find_program() -> str | None:
    """The browser of this machine; nothing where it has none."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Browser:
    """The browser, until the end of a with block, and the one page that it has open."""

    def __init__(self, program: str):
        self.program = program
        self.events: list[dict] = []
        self._answers: dict[int, dict] = {}
        self._received = b""
        self._number = 0
        self._session = ""

    def __enter__(self) -> "Browser":
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        its_commands, self._commands = pipe()
        self._incoming, its_answers = pipe()
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", LAUNCHER, "bash", str(its_commands), str(its_answers), self.program, *OPTIONS,
             f"--user-data-dir={self._profile.name}"],
            pass_fds=(its_commands, its_answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(its_commands)
        os.close(its_answers)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        # It ends when nobody can command it any more.
        os.close(self._commands)
        os.close(self._incoming)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._profile.cleanup()

    def open(self, url: str, width: int, scheme: str) -> None:
        """Loads a page in a window of that width, for a user who prefers that colour scheme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=HEIGHT, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        # From an empty page: otherwise a URL with the same file and another fragment loads nothing.
        self._load("about:blank")
        self._load(url)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise LabError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def screenshot(self, file: Path) -> None:
        """A picture of the whole page, as PNG."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(answer["data"]))

    def call(self, method: str, **parameters: Any) -> dict:
        """Has the browser do something, and waits for its answer."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while self._number not in self._answers:
            self._receive(end, method)
        answer = self._answers.pop(self._number)
        if "error" in answer:
            raise LabError(f"the browser refuses {method}: {answer['error']}")
        return answer["result"]

    def _load(self, url: str) -> None:
        self.events.clear()
        self.call("Page.navigate", url=url)
        end = time.monotonic() + PATIENCE
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._receive(end, url)

    def _receive(self, end: float, what: str) -> None:
        """Takes what the browser sends next."""
        ready, _, _ = select.select([self._incoming], [], [], max(0, end - time.monotonic()))
        if not ready:
            raise LabTimeout(f"the browser does not answer: {what}")
        received = os.read(self._incoming, 1 << 16)
        if not received:
            raise LabError(f"the browser has ended: {what}")
        *messages, self._received = (self._received + received).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                self.events.append(message)


def pipe() -> tuple[int, int]:
    """A pipe whose ends have descriptors from FIRST_DESCRIPTOR on."""
    ends = []
    for low in os.pipe():
        ends.append(fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR))
        os.close(low)
    return ends[0], ends[1]
