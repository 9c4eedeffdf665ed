# SPDX-License-Identifier: GPL-2.0-only
"""What is left when the other tests are over: this file is the last."""

from lab.detectors import dma_errors, leaks
from lab.solo import Solo


def test_the_module_leaves_nothing_behind(solo: Solo) -> None:
    """It can be unloaded, says that it has lost nothing, and no memory of it or for it is left."""
    solo.unload_transport()
    for kind in ("cm_id", "mr"):
        assert solo.guest.output(f"rdma resource show {kind}").strip() == ""
    assert "type RC" not in solo.guest.output("rdma resource show qp")
    assert not dma_errors(solo.guest)
    assert not (left := leaks(solo.guest)), "\n".join(left)
