# SPDX-License-Identifier: GPL-2.0-only
"""A server on a device whose RDMA Reads take a registration each, as over iWARP: soft-RoCE can be told to need that."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from conftest import LOG_DIRECTORY, TEST_DEVICES, TRANSPORT, build_programs, kernel_of

from lab.conformance import run_side
from lab.module import guest_module
from lab.solo import ROCE, Solo

BY_REGISTRATION = replace(ROCE, set_up=("modprobe ib_core force_mr=1", *ROCE.set_up))
CASE = "server/read-chunks-many-segments-at-once"
# A Call has 20 segments. Half of so many registrations are for one connection: enough for two Calls.
REGISTRATIONS = 100
# Makes the send queue long enough for the Reads of more Calls than that.
CREDITS = 64
KPROBES = "/sys/kernel/tracing/kprobe_events"
EVENT = "/sys/kernel/tracing/events/lab/mapped"
NONE_LEFT = -11


@pytest.fixture(scope="module", params=["linux6.12"])
def machine(request: pytest.FixtureRequest) -> Iterator[Solo]:
    """The machine, up and serving."""
    kernel = kernel_of(request.param)
    build_programs(kernel.architecture)
    with Solo(kernel, LOG_DIRECTORY / "registrations", TRANSPORT, BY_REGISTRATION) as solo:
        yield solo


@pytest.mark.skipif(bool(TEST_DEVICES), reason="is about a machine of its own, which other runs have")
def test_calls_wait_for_registrations(solo: Solo) -> None:
    """Calls whose Reads find too few left are read when others have given theirs back."""
    guest = solo.guest
    guest.run(f"insmod {guest_module(guest.kernel, 'small-device')} max_mr={REGISTRATIONS}")
    guest.run(f"echo {CREDITS} >/proc/sys/sunrpc/svc_rdma/max_requests && "
              f"echo 'r:lab/mapped rdma_rw_ctx_init found=$retval:s32' >{KPROBES} && "
              f"echo 'found == {NONE_LEFT}' >{EVENT}/filter && echo 1 >{EVENT}/enable")
    run_side(solo, "server", "--protocol", "2", "--only", CASE, label="-registrations").judge(CASE)
    assert "mapped:" in guest.read("/sys/kernel/tracing/trace"), "there were enough for all"
    guest.run("rmmod small_device")
