# SPDX-License-Identifier: GPL-2.0-only
"""A kernel to boot: its image, its modules and the initramfs that goes with them."""

import hashlib
import lzma
import os
import re
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.paths import CHECKOUT, GUEST_SCRIPTS, cache_directory
from lab.run import EVERY_CELL, FULL
from lab.system import NATIVE, RELEASE, directory_of, guest_root

# Of the test kernel that tests take which do not say another.
SLOWNESS_OF_TEST_KERNELS = 3
TEST_FLAVOUR = os.environ.get("RPCORDMA_TEST_FLAVOUR", "debug")
# What the initramfs needs to find the root file system: the rest is loaded from there.
ROOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
# Every file in an initramfs made here has this time, so that equal contents are equal bytes.
EPOCH = 0
# What is tested on a Debian release that has these, the least important first.
SERIES = {"12": ("6.1", "7.3", "6.12"), "13": ("7.3", "6.12")}
# The roots of scripts/root whose kernels can be had beside this machine's.
ROOTS = ("13", "12-cross", "13-cross")
# Machines of another kind, with pages of both sizes that Debian has there, and this kind beside them: server and
# client. A run that is not in every cell has the last of them.
FOREIGN_PAIRS = (("7.3-arm64", "7.3-arm64"), ("6.12-arm64-16k", "6.12-arm64-16k"), ("6.12-arm64", "6.12-arm64"),
                 ("6.12-arm64-16k", "6.12"), ("6.12", "6.12-arm64-16k")) if NATIVE == "amd64" else ()
# The end of a release: the machine that it is for, and its pages where Debian has more than one size.
FLAVOUR = re.compile(r"-((?:amd64|arm64)(?:-16k)?)$")


def usual_series() -> tuple[str, ...]:
    """The kernels that tests run with where nobody names others (KERNELS="6.12 7.3")."""
    return SERIES.get(RELEASE, SERIES["12"])


def foreign_pairs() -> tuple[tuple[str, str], ...]:
    """The pairs of this run in which there are machines of another kind, where nobody names kernels."""
    return FOREIGN_PAIRS if EVERY_CELL else FOREIGN_PAIRS[-1:]


def series_here() -> list[str]:
    """All kernels of a run in which nobody names any."""
    return sorted({*usual_series(), *(series for pair in foreign_pairs() for series in pair)})


@dataclass(frozen=True)
class Kernel:
    """A kernel: Debian's, installed on this machine or in a root of scripts/root, or that of scripts/test-kernel."""

    release: str
    image: Path
    modules: Path
    # What it wants to be told on its command line.
    options: str = ""
    # The root of scripts/root that it is in, and modules for it are built in: None for this machine's own.
    root: str | None = None
    # The machine that it is for, as Debian calls it.
    architecture: str = NATIVE
    # Full of detectors, and slow.
    is_test: bool = False

    @classmethod
    def find(cls, series: str) -> "Kernel":
        """The newest installed kernel of a series such as "6.12", or "6.12-arm64-16k" for another kind of machine or
        other pages. Those of roots are for what this machine has not."""
        def of_series(kernels: list[Kernel]) -> list[Kernel]:
            return [kernel for kernel in kernels if kernel.series == series]

        found = of_series(cls.all_in(Path("/"))) or of_series(cls._in_roots())
        if not found:
            raise FileNotFoundError(cls._how_to_have(series))
        return max(found, key=cls._version)

    @staticmethod
    def _how_to_have(series: str) -> str:
        missing = f"no kernel of series {series}, neither on this machine nor in a root of another Debian: "
        if "-" in series:
            return missing + ("scripts/root 12-cross makes one with 6.12-arm64 and 6.12-arm64-16k, 13-cross one with "
                              "7.3-arm64")
        if series not in usual_series():
            return missing + f"on Debian {RELEASE} there are {' and '.join(usual_series())}"
        if series == "7.3":
            return missing + f"scripts/root {ROOTS[0]} makes one"
        return missing + ("scripts/setup lab installs it; where linux-image-amd64 is that of backports, install "
                          f"linux-image-{series}... and linux-headers-{series}... by their full names")

    @classmethod
    def test(cls, flavour: str = TEST_FLAVOUR, sources: str = "6.12", architecture: str = NATIVE,
             pages: str = "4") -> "Kernel":
        """The test kernel of those sources, which has been built, for that machine with pages of so many KiB."""
        found = subprocess.run([CHECKOUT / "scripts" / "test-kernel", "path", "--flavour", flavour,
                                "--sources", sources, "--arch", architecture, "--pages", pages],
                               stdout=subprocess.PIPE, text=True, check=False)
        if found.returncode != 0:
            raise FileNotFoundError("no test kernel: scripts/test-kernel builds it")
        directory = Path(found.stdout.strip())
        release = (directory / "release").read_text().strip()
        return cls(release, directory / "image", directory / "lib" / "modules" / release,
                   cls._test_options(flavour, architecture), is_test=True, architecture=architecture)

    @staticmethod
    def _test_options(flavour: str, architecture: str) -> str:
        """What SLUB finds KASAN finds too, but for much less time. ACPI's interpreter takes 20 s for each interrupt of
        a PCI device, under these sanitizers and without KVM; the MP table has the processors and the interrupts too.
        KASAN would say no more after its first report, which may be one that is excused."""
        options = [] if FULL else ["slub_debug=-"]
        if flavour != "kcsan":
            options += ["kasan_multi_shot", *(["pci=noacpi"] if architecture == "amd64" else [])]
        return " ".join(options)

    @property
    def slowness(self) -> int:
        """How many times as long as with a usual kernel everything may take."""
        return SLOWNESS_OF_TEST_KERNELS if self.is_test else 1

    @property
    def headers(self) -> Path:
        """What modules are built with, as the commands of build_command() see it."""
        return Path("/lib/modules") / self.release / "build" if self.root else self.modules / "build"

    def build_command(self, *command: str | Path) -> list[str | Path]:
        """The command, with the tools that modules for this kernel are built with. To be run in the checkout."""
        return [CHECKOUT / "scripts" / "root", self.root, "run", *command] if self.root else list(command)

    @property
    def cross(self) -> list[str]:
        """What make has to be told where this kernel's headers do not say for which machine they are."""
        is_told = self.root is None and self.architecture != NATIVE
        return [f"ARCH={self.architecture}", "CROSS_COMPILE=aarch64-linux-gnu-"] if is_told else []

    @property
    def series(self) -> str:
        """The first two numbers of the release: "6.12". A kernel that is not of the usual kind here has it behind that:
        "6.12-arm64-16k"."""
        numbers = ".".join(self.release.split(".")[:2])
        flavour = FLAVOUR.search(self.release)
        return numbers if flavour is None or flavour[1] == NATIVE else f"{numbers}-{flavour[1]}"

    @property
    def numbers(self) -> str:
        """The first two numbers of the release."""
        return self.series.split("-")[0]

    @classmethod
    def _in_roots(cls) -> list["Kernel"]:
        return [kernel for name in ROOTS if (directory := directory_of(name)) for kernel in cls.all_in(directory, name)]

    @classmethod
    def all_in(cls, directory: Path, name: str | None = None) -> list["Kernel"]:
        """The kernels that are installed on this machine, or in a root, by what scripts/root knows it as."""
        kernels = []
        for dependencies in directory.glob("usr/lib/modules/*/modules.dep"):
            modules = dependencies.parent
            flavour = FLAVOUR.search(modules.name)
            if flavour is None:
                continue
            images = [modules / "vmlinuz", directory / "boot" / f"vmlinuz-{modules.name}"]
            kernels += [cls(modules.name, image, modules, root=name, architecture=flavour[1].split("-")[0])
                        for image in images if image.exists()][:1]
        return kernels

    @staticmethod
    def _version(kernel: "Kernel") -> list[int]:
        return [int(number) for number in re.findall(r"\d+", kernel.release)]

    def initramfs(self, first: Sequence[Path] = ()) -> Path:
        """Builds the initramfs, unless one with the same contents is in the cache. It loads some modules first."""
        contents = self._initramfs_contents([*first, *self._root_modules()])
        digest = hashlib.sha256(repr(contents).encode()).hexdigest()[:16]
        path = cache_directory() / f"initramfs-{self.release}-{digest}"
        if not path.exists():
            unfinished = path.with_name(f"{path.name}.{os.getpid()}")
            unfinished.write_bytes(cpio_archive(contents))
            unfinished.replace(path)
        return path

    def _initramfs_contents(self, modules: list[Path]) -> list[tuple[str, int, bytes]]:
        contents = [(name, stat.S_IFDIR | 0o755, b"")
                    for name in ("bin", "dev", "proc", "sys", "lower", "upper", "root", "modules")]
        contents.append(("bin/busybox", stat.S_IFREG | 0o755,
                         (guest_root(self.architecture) / "bin/busybox").read_bytes()))
        contents.append(("init", stat.S_IFREG | 0o755,
                         (GUEST_SCRIPTS / "initramfs-init").read_bytes()))
        for module in modules:
            name = module.name.removesuffix(".xz")
            contents.append((f"modules/{name}", stat.S_IFREG | 0o644, read_module(module)))
        order = "".join(f"{module.name.removesuffix('.xz')}\n" for module in modules)
        contents.append(("modules/order", stat.S_IFREG | 0o644, order.encode()))
        return contents

    def _root_modules(self) -> list[Path]:
        """The files of ROOT_MODULES and of what they depend on, in the order of loading."""
        modules: list[Path] = []
        for name in ROOT_MODULES:
            shown = subprocess.run(["/sbin/modprobe", "-d", self.modules.parents[2], "-S", self.release,
                                    "--show-depends", name],
                                   check=True, capture_output=True, text=True).stdout
            for line in shown.splitlines():
                words = line.split()
                if words[0] == "insmod" and Path(words[1]) not in modules:
                    modules.append(Path(words[1]))
        return modules


def read_module(path: Path) -> bytes:
    """A kernel module's bytes, without the compression."""
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def cpio_archive(contents: list[tuple[str, int, bytes]]) -> bytes:
    """An archive in the "newc" format that the kernel unpacks (name, mode and data of each)."""
    archive = bytearray()
    for inode, (name, mode, data) in enumerate([*contents, ("TRAILER!!!", 0, b"")], start=1):
        fields = (inode, mode, 0, 0, 1, EPOCH, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        archive += b"070701" + b"".join(b"%08x" % field for field in fields)
        archive += name.encode() + b"\0"
        archive += bytes(-len(archive) % 4)
        archive += data
        archive += bytes(-len(archive) % 4)
    return bytes(archive)
