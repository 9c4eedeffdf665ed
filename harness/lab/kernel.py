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
from lab.run import FULL
from lab.system import directory_of

# What the initramfs needs to find the root file system: the rest is loaded from there.
ROOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
# Every file in an initramfs made here has this time, so that equal contents are equal bytes.
EPOCH = 0
# The roots of scripts/root whose kernels can be had beside this machine's.
ROOTS = ("13",)


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
    # Full of detectors, and slow.
    is_test: bool = False

    @classmethod
    def find(cls, series: str) -> "Kernel":
        """The newest installed kernel of a series such as "6.12"."""
        found = sorted((kernel for kernel in [*cls._installed(), *cls._in_roots()]
                        if kernel.release.startswith(series + ".")), key=cls._version)
        if not found:
            raise FileNotFoundError(f"no kernel of series {series}, neither in /boot nor in a root of another Debian: "
                                    f"run scripts/setup lab, or scripts/root {ROOTS[-1]}")
        return found[-1]

    @classmethod
    def test(cls, flavour: str = "debug", sources: str = "6.12") -> "Kernel":
        """The test kernel of those sources, which has been built."""
        found = subprocess.run([CHECKOUT / "scripts" / "test-kernel", "path", "--flavour", flavour,
                                "--sources", sources],
                               stdout=subprocess.PIPE, text=True, check=False)
        if found.returncode != 0:
            raise FileNotFoundError("no test kernel: scripts/test-kernel builds it")
        directory = Path(found.stdout.strip())
        release = (directory / "release").read_text().strip()
        return cls(release, directory / "bzImage", directory / "lib" / "modules" / release,
                   cls._test_options(flavour), is_test=True)

    @staticmethod
    def _test_options(flavour: str) -> str:
        """What SLUB finds KASAN finds too, but for much less time. ACPI's interpreter takes 20 s for each interrupt of
        a PCI device, under these sanitizers and without KVM; the MP table has the processors and the interrupts too.
        KASAN would say no more after its first report, which may be one that is excused."""
        options = [] if FULL else ["slub_debug=-"]
        return " ".join(options if flavour == "kcsan" else ["pci=noacpi", "kasan_multi_shot", *options])

    @property
    def headers(self) -> Path:
        """What modules are built with, as the commands of build_command() see it."""
        return Path("/lib/modules") / self.release / "build" if self.root else self.modules / "build"

    def build_command(self, *command: str | Path) -> list[str | Path]:
        """The command, with the tools that modules for this kernel are built with. To be run in the checkout."""
        return [CHECKOUT / "scripts" / "root", self.root, "run", *command] if self.root else list(command)

    @property
    def series(self) -> str:
        """The first two numbers of the release: "6.12"."""
        return ".".join(self.release.split(".")[:2])

    @classmethod
    def _installed(cls) -> list["Kernel"]:
        kernels = []
        for image in Path("/boot").glob("vmlinuz-*-amd64"):
            release = image.name.removeprefix("vmlinuz-")
            modules = Path("/lib/modules") / release
            if (modules / "modules.dep").exists():
                kernels.append(cls(release, image, modules))
        return kernels

    @classmethod
    def _in_roots(cls) -> list["Kernel"]:
        return [kernel for name in ROOTS if (directory := directory_of(name)) for kernel in cls.all_in(directory, name)]

    @classmethod
    def all_in(cls, directory: Path, name: str) -> list["Kernel"]:
        """The kernels that are installed in a root, by what scripts/root knows it as."""
        kernels = []
        for modules in (directory / "usr/lib/modules").iterdir():
            images = [modules / "vmlinuz", directory / "boot" / f"vmlinuz-{modules.name}"]
            kernels += [cls(modules.name, image, modules, root=name) for image in images if image.exists()][:1]
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

    @staticmethod
    def _initramfs_contents(modules: list[Path]) -> list[tuple[str, int, bytes]]:
        contents = [(name, stat.S_IFDIR | 0o755, b"")
                    for name in ("bin", "dev", "proc", "sys", "lower", "upper", "root", "modules")]
        contents.append(("bin/busybox", stat.S_IFREG | 0o755, Path("/bin/busybox").read_bytes()))
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
