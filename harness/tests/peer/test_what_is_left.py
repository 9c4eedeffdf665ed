# SPDX-License-Identifier: GPL-2.0-only
"""What is left when the other tests of a part are over: this file is the last."""

import pytest

from lab.solo import Solo


@pytest.mark.usefixtures("part")
def test_the_module_leaves_nothing_behind(solo: Solo) -> None:
    """It can be unloaded, says that it has lost nothing, and the device holds nothing of it."""
    solo.unload_transport()
    try:
        for kind in ("cm_id", "mr"):
            assert solo.guest.output(f"rdma resource show {kind}").strip() == ""
        queue_pairs = solo.guest.output("rdma resource show qp")
        assert "GSI" in queue_pairs and "RC" not in queue_pairs
    finally:
        # Side by side, another part may come to this machine.
        solo.load_transport()
