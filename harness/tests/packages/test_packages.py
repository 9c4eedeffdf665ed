# SPDX-License-Identifier: GPL-2.0-only
"""The Debian packages, from their installation over an upgrade of the kernel to their end."""

import hashlib
import shutil
from pathlib import Path

from lab.guest import Guest, Hardware
from lab.kernel import Kernel
from lab.nfs import INSTALLED, MODULES, OURS, STOCK, modules_loaded
from lab.paths import CHECKOUT
from lab.solo import Solo
from lab.system import System

# The names by which sunrpc, rdma-core and administrators ask for the module.
NAMES = ("rpcrdma", "rpcrdma6", "xprtrdma", "svcrdma")
PACKAGES = ["rpcordma-dkms", "rpcordma-peer", "rpcordmactl"]
APT = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y", "--no-install-recommends")
MEBIBYTES = 4
# DKMS's own key, which it makes for the first module and keeps for others; what apt, dpkg and ldconfig keep; and what
# is in memory.
NOT_OURS = ("var/lib/dkms/mok.", "var/lib/dkms/dkms_dbversion", "var/lib/dpkg/", "var/lib/apt/", "var/cache/",
            "var/log/", "etc/ld.so.cache", "dev/", "proc/", "run/", "sys/", "tmp/", str(CHECKOUT).lstrip("/"))


def test_packages_follow_an_upgrade_of_the_kernel_and_leave_nothing(system: System, logs: Path) -> None:
    """DKMS builds the module for the kernel that is there and for the next one; what uses it finds it, until purged."""
    system.run("true")
    before, owned = picture(system), of_packages(system)
    first = the_kernel(system, [])

    system.run(*APT, "install", *packages(system.release))
    assert_built(system, first)
    assert "server/null\t" in system.run("rpcordma-peer", "conform", "a-server", "--list")
    assert "exit status:" in system.run("rpcordmactl", "--help")
    assert f"kernel  {first.release}: has the module" in system.run("rpcordmactl", "status")
    assert (system.root / "lib/udev/rules.d/60-rpcordma-dkms.rules").exists()
    run_autopkgtest(system, first, logs / "installed")

    system.run(*APT, "install", *next_kernel(system))
    second = the_kernel(system, [first])
    assert_built(system, first)
    assert_built(system, second)
    assert_nfs_is_carried_by(OURS, system, second, logs / "upgraded")

    assert_dkms_skips_other_kernels(system, second)

    # Its configuration file stays, and does no harm.
    system.run(*APT, "remove", *PACKAGES)
    assert (system.root / "etc/modprobe.d/rpcordma-dkms.conf").exists()
    assert_nfs_is_carried_by(STOCK, system, second, logs / "removed")

    system.run(*APT, "purge", *PACKAGES)
    assert_nfs_is_carried_by(STOCK, system, second, logs / "purged")
    assert left_behind(system, before, owned, second) == []


def packages(release: str) -> list[str]:
    """The packages' files, as scripts/package built them."""
    built = sorted(str(path) for path in (CHECKOUT / "build" / "packages" / release).glob("*.deb")
                   if "-dbgsym_" not in path.name)
    assert [Path(path).name.split("_")[0] for path in built] == PACKAGES
    return built


def next_kernel(system: System) -> list[str]:
    """What apt-get is asked for to install it."""
    return (system.root / "etc/rpcordma-root").read_text().split()


def the_kernel(system: System, others: list[Kernel]) -> Kernel:
    """The only one beside these."""
    found = [kernel for kernel in Kernel.all_in(system.root, str(system.root))
             if kernel.release not in [other.release for other in others]]
    assert len(found) == 1, found
    return found[0]


def assert_built(system: System, kernel: Kernel) -> None:
    """DKMS has installed our module for the kernel, signed; modprobe has the in-tree module's names lead there."""
    def shown(name: str) -> str:
        return system.run("modprobe", "-S", kernel.release, "--show-depends", name)

    assert f"{kernel.release}, x86_64: installed" in system.run("dkms", "status", "rpcordma")
    assert f"/lib/modules/{kernel.release}/updates/dkms/rpcordma.ko" in shown("rpcordma")
    assert system.run("modinfo", "-k", kernel.release, "-F", "signer", "rpcordma").strip()
    for name in NAMES:
        assert "if /sbin/modprobe -n -q rpcordma" in shown(name)


def assert_dkms_skips_other_kernels(system: System, kernel: Kernel) -> None:
    """The package of a kernel that the module is not for asks DKMS, as all of them do, and that is no failure."""
    other = system.root / "lib/modules/6.5.0-other"
    other.mkdir()
    (other / "build").symlink_to(f"/usr/src/linux-headers-{kernel.release}")
    system.run("dkms", "autoinstall", "-k", other.name)
    assert list(other.rglob("rpcordma*")) == []
    shutil.rmtree(other)


def run_autopkgtest(system: System, kernel: Kernel, logs: Path) -> None:
    """What debian/tests has for a machine with the packages."""
    guest = Guest("autopkgtest", kernel, logs, Hardware(root=system.root))
    guest.start()
    try:
        guest.wait_until_ready()
        said = guest.run(str(CHECKOUT / "debian/tests/mount"), timeout=300, check=False)
        assert said.status == 0, said.stdout
        assert said.stdout.endswith("passed\n")
        guest.mark("end of the test")
        assert guest.complaints() == []
    finally:
        guest.shut_down()


def assert_nfs_is_carried_by(transport: str, system: System, kernel: Kernel, logs: Path) -> None:
    """A machine of this system and kernel serves and mounts NFS over RDMA, and this is the module that was loaded."""
    with Solo(kernel, logs, INSTALLED, root=system.root) as solo:
        assert solo.guest.output("cat /etc/debian_version; uname -r").split() == [
            (system.root / "etc/debian_version").read_text().strip(), kernel.release]
        mount = solo.mount("4.2")
        loaded = modules_loaded(solo.guest)
        assert loaded.keys() == {MODULES[transport]}
        assert loaded[MODULES[transport]] > 0
        solo.guest.run(f"head -c {MEBIBYTES}M /dev/urandom >/tmp/up && cp /tmp/up /mnt/up && sync /mnt/up", timeout=300)
        mount.renew()
        solo.guest.run("cmp /tmp/up /mnt/up && cmp /tmp/up /srv/nfs/tmpfs/up", timeout=300)
        assert mount.stats().total("total_reply_bytes") >= MEBIBYTES << 20
        for name in NAMES:
            solo.guest.run(f"modprobe {name}")
        assert modules_loaded(solo.guest).keys() == {MODULES[transport]}
        mount.unmount()
        assert solo.guest.complaints() == []


# What is on disk

def picture(system: System) -> dict[str, str]:
    """Every path in the system that packages may answer for; of configuration files also what they say."""
    seen = {}
    for line in system.run("find", "/", "-xdev", "-printf", "%P\\t%y %m %U %G\\n").splitlines():
        path, _, what = line.partition("\t")
        if path and not f"{path}/".startswith(NOT_OURS):
            seen[path] = what + contents(system.root / path, path)
    return seen


def contents(file: Path, path: str) -> str:
    """What a file of those says that are compared to the letter; depmod writes in any order."""
    if file.is_symlink() or not file.is_file():
        return ""
    if path.startswith("etc/"):
        return hashlib.sha256(file.read_bytes()).hexdigest()
    if path.startswith("usr/lib/modules/") and file.name in ("modules.dep", "modules.alias", "modules.softdep"):
        return hashlib.sha256(b"\n".join(sorted(file.read_bytes().splitlines()))).hexdigest()
    return ""


def of_packages(system: System) -> set[str]:
    """Every path that belongs to an installed package."""
    listed = system.run("sh", "-c", "cat /var/lib/dpkg/info/*.list").splitlines()
    # Packages also name what is below /usr by the links to it.
    return {path.lstrip("/") for path in listed} | {f"usr{path}" for path in listed}


def left_behind(system: System, before: dict[str, str], owned: set[str], kernel: Kernel) -> list[str]:
    """What is otherwise than before, and neither was nor is a package's, nor is of a kernel that came since."""
    after = picture(system)
    named = owned | of_packages(system) | {"vmlinuz", "initrd.img", "vmlinuz.old", "initrd.img.old"}
    made_for_kernel = (f"usr/lib/modules/{kernel.release}/modules.", "boot/")
    dpkg = [name for name in system.run("ls", "/var/lib/dpkg/info").split() if "rpcordma" in name]
    return dpkg + sorted(
        path for path in before.keys() | after.keys()
        if before.get(path) != after.get(path) and path not in named
        and not (path.startswith(made_for_kernel) and kernel.release in path))
