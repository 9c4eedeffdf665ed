# SPDX-License-Identifier: GPL-2.0-only
"""Which kernels the lab finds. Needs no guest."""

from pathlib import Path

import pytest

from lab.kernel import SERIES, Kernel, usual_series
from lab.system import RELEASE


def install(root: Path, release: str, image: str, indexed: bool = True) -> None:
    """Has a kernel in the root as a Debian package leaves it; one whose headers alone are installed is not indexed."""
    modules = root / "usr/lib/modules" / release
    modules.mkdir(parents=True)
    (root / "boot").mkdir(exist_ok=True)
    (root / image).touch()
    if indexed:
        (modules / "modules.dep").touch()


def test_images_are_found_where_each_debian_has_them(tmp_path: Path) -> None:
    """Debian's kernels up to 6.12 are in /boot, later ones beside their modules."""
    install(tmp_path, "6.12.1+deb13-amd64", "boot/vmlinuz-6.12.1+deb13-amd64")
    install(tmp_path, "7.3.4+deb13-amd64", "usr/lib/modules/7.3.4+deb13-amd64/vmlinuz")
    install(tmp_path, "6.12.2+deb13-amd64", "boot/vmlinuz-6.12.2+deb13-amd64", indexed=False)
    install(tmp_path, "6.12.3+deb13-amd64", "boot/vmlinuz")
    found = {kernel.release: kernel.image for kernel in Kernel.all_in(tmp_path)}
    assert found == {"6.12.1+deb13-amd64": tmp_path / "boot/vmlinuz-6.12.1+deb13-amd64",
                     "7.3.4+deb13-amd64": tmp_path / "usr/lib/modules/7.3.4+deb13-amd64/vmlinuz"}


def test_a_kernel_that_is_nowhere_is_named_with_what_there_is() -> None:
    """The message says what this release has."""
    with pytest.raises(FileNotFoundError, match=f"no kernel of series 5.10.*Debian {RELEASE} there are .*6.12"):
        Kernel.find("5.10")


def test_this_release_has_kernels_to_test_with() -> None:
    """The heavy tests run with the last."""
    assert usual_series() == SERIES[RELEASE]
    assert usual_series()[-1] == "6.12"
