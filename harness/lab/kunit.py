# SPDX-License-Identifier: GPL-2.0-only
"""scripts/check-kunit: the KUnit suites in a guest with the test kernel, and what its detectors say."""

import argparse
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lab import lines
from lab.detectors import SCAN_SECONDS, dma_errors, forget_leaks, leaks
from lab.errors import GuestDied, LabError
from lab.guest import Guest, Hardware
from lab.kernel import Kernel
from lab.module import build_module
from lab.paths import CHECKOUT, LOGS
from lab.run import FULL
from lab.system import NATIVE

SUITE_PREFIX = "rpcordma_"
RESULTS = "/sys/kernel/debug/kunit"
FAILSLAB = "/sys/kernel/debug/failslab"
FAIL_PAGES = "/sys/kernel/debug/fail_page_alloc"
# What test kernels are slow at, with the processors shared by others.
LOAD_SECONDS = 600

# In KTAP a suite's cases are indented once, the parameters of a case twice.
CASE = re.compile(r"^ {4}(not )?ok \d+ (\S+)", re.MULTILINE)
PLAN = re.compile(r"^ {4}1\.\.(\d+)$", re.MULTILINE)
PARAMETER = re.compile(r"^ {8}(not )?ok \d+ ", re.MULTILINE)
FAILURE = re.compile(r"EXPECTATION FAILED|^ +(# \S+: +with |not ok)")


@dataclass
class Suite:
    """What a suite's results say."""

    name: str
    passed: int = 0
    failed: int = 0
    problem: str = ""

    @classmethod
    def read(cls, name: str, ktap: str) -> "Suite":
        """Counts a parameterised case once for each parameter."""
        suite = cls(name)
        planned = PLAN.search(ktap)
        cases = CASE.findall(ktap)
        if planned is None or not cases:
            suite.problem = "did not run"
        elif len(cases) != int(planned[1]):
            suite.problem = f"ended after {len(cases)} of {planned[1]} cases"
        counted = [failed for failed, _ in cases] + PARAMETER.findall(ktap)
        suite.failed = sum(bool(failed) for failed in counted) + bool(suite.problem)
        suite.passed = sum(not failed for failed in counted)
        return suite

    def __str__(self) -> str:
        problem = f", {self.problem}" if self.problem else ""
        return f"{self.name}: {self.passed} passed, {self.failed} failed{problem}"


class Run:
    """One boot, in which all suites run once."""

    def __init__(self, kernel: Kernel, module: Path, logs: Path, chosen: list[str]):
        self.module = module
        self.chosen = chosen
        self.guest = Guest("kunit", kernel, logs, Hardware(memory="2G"))
        self.passed = 0
        self.failed = 0

    def expect(self, what: str, complaints: list[str]) -> None:
        """Counts one check, and prints what is wrong."""
        print(f"check-kunit: {what}: {'FAILED' if complaints else 'ok'}", flush=True)
        for line in complaints:
            print(f"    {line}")
        if complaints:
            self.failed += 1
        else:
            self.passed += 1

    def all(self, has_detectors: bool) -> None:
        """Runs the suites, then asks each detector."""
        self.boot()
        self.load()
        self.suites(self.chosen or self.modinfo("suites").split())
        unloaded = self.guest.run("rmmod rpcordma_kunit", check=False)
        self.expect("module unloaded", unloaded.stdout.splitlines() if unloaded.status else [])
        if has_detectors:
            self.expect("DMA-API debugging", dma_errors(self.guest))
            self.expect("kmemleak", leaks(self.guest))
        self.guest.mark("end")
        self.expect("kernel log", self.guest.complaints())

    def boot(self) -> None:
        """Boots, and has injected failures hit every allocation that they are aimed at, and nothing else.

        The pages that the kernel makes slabs of would count too, at times, and it does with fewer where that fails.
        """
        print(f"check-kunit: booting {self.guest.kernel.release}", flush=True)
        self.guest.start()
        self.guest.wait_until_ready()
        self.guest.run(f"echo N >{FAILSLAB}/ignore-gfp-wait; echo 0 >{FAILSLAB}/verbose; "
                       f"echo 99 >{FAIL_PAGES}/min-order")
        forget_leaks(self.guest)
        dependencies = self.modinfo("depends").replace(",", " ")
        self.guest.run(f"modprobe -a {dependencies}", timeout=SCAN_SECONDS)

    def modinfo(self, field: str) -> str:
        """A field of what the module says of itself."""
        return subprocess.run(["/sbin/modinfo", "-F", field, self.module], check=True,
                              capture_output=True, text=True).stdout.strip()

    def load(self) -> None:
        """The suites run while the module is loaded."""
        print("check-kunit: running the suites", flush=True)
        only = f" only={','.join(self.chosen)}" if self.chosen else ""
        self.guest.run(f"insmod {self.module}{only}", timeout=LOAD_SECONDS)

    def suites(self, expected: list[str]) -> None:
        """Reads the results of the suites that the module says it has."""
        for name in expected:
            ktap = self.guest.output(f"cat {RESULTS}/{name}/results 2>/dev/null || true")
            suite = Suite.read(name, ktap)
            print(f"check-kunit: {suite}", flush=True)
            if suite.failed:
                print("\n".join(line for line in ktap.splitlines() if FAILURE.search(line)))
            self.passed += suite.passed
            self.failed += suite.failed


class Counts(NamedTuple):
    """Of tests."""

    passed: int = 0
    failed: int = 0


def objects_of(text: str) -> set[str]:
    """The names of object files in a text that the build wrote."""
    return set(re.findall(r"\S+\.o\b", text))


def foreign_objects(build: Path) -> list[str]:
    """What of the tested code is not the same file that rpcordma.ko was linked from."""
    module = objects_of((build / "rpcordma.mod").read_text())
    command = (build / "kunit" / ".core.o.cmd").read_text().splitlines()[0]
    tested = {name for name in objects_of(command) if not name.endswith("kunit/core.o")}
    foreign = sorted(tested - module)
    core = {name for name in module if "/kmod/wire/" in name or "/kmod/proto/" in name}
    return ([f"{name} is not in rpcordma.ko" for name in foreign]
            + [f"{name} is not in rpcordma_kunit.ko" for name in sorted(core - tested)])


def build_kernel(flavour: str, sources: str, architecture: str, pages: str) -> bool:
    """Builds the test kernel where it is not in the cache, which takes ten minutes."""
    built = subprocess.run([CHECKOUT / "scripts" / "test-kernel", "build", "--flavour", flavour, "--sources", sources,
                            "--arch", architecture, "--pages", pages], check=False)
    return built.returncode == 0


def check(flavour: str, sources: str, architecture: str, pages: str, chosen: list[str]) -> Counts:
    """Builds, boots and runs, with the kernel of those sources."""
    if not build_kernel(flavour, sources, architecture, pages):
        return Counts(failed=1)
    start = time.monotonic()
    kernel = Kernel.test(flavour, sources, architecture, pages)
    build = CHECKOUT / "build" / kernel.release
    build_module(kernel)
    logs = LOGS / time.strftime("kunit-%Y%m%d-%H%M%S")
    run = Run(kernel, build / "rpcordma_kunit.ko", logs, chosen)
    run.expect("the objects of rpcordma.ko are tested", foreign_objects(build))
    try:
        run.all(flavour != "kcsan")
    except (LabError, GuestDied) as error:
        print(f"check-kunit: {error}")
        run.failed += 1
    finally:
        lines.keep(run.guest)
        run.guest.kill()
    print(f"check-kunit: {time.monotonic() - start:.0f} s; logs: {logs.relative_to(CHECKOUT)}")
    return Counts(run.passed, run.failed)


def main() -> int:
    """Prints N passed, N failed."""
    parser = argparse.ArgumentParser(prog="check-kunit", description=__doc__)
    parser.add_argument("--flavour", choices=["debug", "kcsan", "gcov"], default="debug")
    parser.add_argument("--sources", metavar="SERIES", action="append",
                        help="of the kernel: 6.12 or 7.3, or both (the default is 6.12, and both with FULL=1)")
    parser.add_argument("--arch", choices=["amd64", "arm64"], default=NATIVE, help="of the machine")
    parser.add_argument("--pages", choices=["4", "16", "64"], default="4", help="in KiB, on arm64")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="such as header send_queue")
    arguments = parser.parse_args()

    chosen = [SUITE_PREFIX + name for name in arguments.suites]
    every = [check(arguments.flavour, sources, arguments.arch, arguments.pages, chosen)
             for sources in arguments.sources or (["6.12", "7.3"] if FULL else ["6.12"])]
    failed = sum(counts.failed for counts in every)
    print(f"{sum(counts.passed for counts in every)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
