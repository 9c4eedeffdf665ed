# SPDX-License-Identifier: GPL-2.0-only
"""What of a kernel log is a complaint. Needs no guest."""

import pytest

from lab.kernel_log import KernelMessage, complaints_in

BORDER = "=" * 66
HEADLINE = "BUG: KASAN: slab-use-after-free in _raw_spin_lock_irqsave+0x75/0xc0"
ROCE_FRAME = " rxe_resp_queue_pkt+0x24/0x90 [rdma_rxe]"
END_OF_STACK = " </TASK>"
ALLOCATED = "Allocated by task 1234:"

# Queue pairs are allocated and freed on behalf of us.
REPORT = [
    BORDER,
    HEADLINE,
    "Write of size 4 at addr ffff888012345678 by task ksoftirqd/0/15",
    "",
    "CPU: 0 UID: 0 PID: 15 Comm: ksoftirqd/0 Tainted: G           OE",
    "Call Trace:",
    " <TASK>",
    " dump_stack_lvl+0x64/0x80",
    " print_report+0xce/0x660",
    " kasan_report+0xd3/0x110",
    " _raw_spin_lock_irqsave+0x75/0xc0",
    " skb_queue_tail+0x1e/0x100",
    ROCE_FRAME,
    " rxe_rcv+0x4f5/0xf00 [rdma_rxe]",
    " rxe_udp_encap_recv+0xd6/0x200 [rdma_rxe]",
    " udp_queue_rcv_one_skb+0x5b0/0xb70",
    END_OF_STACK,
    "",
    ALLOCATED,
    " kasan_save_stack+0x33/0x60",
    " ib_create_qp_kernel+0x61/0x3b0 [ib_core]",
    " rdma_create_qp+0x93/0x220 [rdma_cm]",
    " make_queue_pair+0x51/0x80 [rpcordma]",
    "",
    "Freed by task 1234:",
    " kfree+0x120/0x3c0",
    " ib_destroy_qp_user+0x1f0/0x560 [ib_core]",
    " dismantle+0x51/0x80 [rpcordma]",
    "",
    "The buggy address belongs to the object at ffff888012345000",
    BORDER,
]


def log_of(texts: list[str]) -> list[KernelMessage]:
    return [KernelMessage(3, number / 1000, text) for number, text in enumerate(texts)]


def replaced(old: str, *new: str) -> list[str]:
    """The report with other lines in the place of one."""
    at = REPORT.index(old)
    return [*REPORT[:at], *new, *REPORT[at + 1:]]


def complaints(texts: list[str]) -> list[str]:
    return [message.text for message in complaints_in(log_of(texts))[0]]


def test_soft_roces_own_use_after_free_is_no_complaint() -> None:
    """Neither alone nor between other messages, on either kernel; and it is said that it was there."""
    assert complaints_in(log_of(REPORT)) == ([], [log_of(REPORT)[1]])
    assert not complaints(["lab: mark 1: set up", *REPORT, "rpcordma: loaded"])
    assert not complaints(replaced(HEADLINE, "BUG: KASAN: use-after-free in rxe_resp_queue_pkt+0x24/0x90 [rdma_rxe]"))
    assert not complaints(replaced(ROCE_FRAME, " rxe_pool_get_index+0xc9/0x2c0 [rdma_rxe]"))


WARNING = "WARNING: CPU: 1 PID: 12 at drivers/infiniband/sw/rxe/rxe_task.c:267 rxe_sched_task+0xbd/0xe0 [rdma_rxe]"
WARNED = [
    "------------[ cut here ]------------",
    WARNING,
    "Modules linked in: rpcordma(O) sunrpc dummy rdma_rxe",
    "Call Trace:",
    " <TASK>",
    ROCE_FRAME,
    " rxe_rcv+0x81d/0x1860 [rdma_rxe]",
    " rxe_xmit_packet+0x69f/0xb90 [rdma_rxe]",
    END_OF_STACK,
    "irq event stamp: 124085",
    "---[ end trace 0000000000000000 ]---",
]


def test_soft_roces_warning_of_that_is_no_complaint() -> None:
    """Of a queue pair that is about to be freed; and it is the same with what follows."""
    assert complaints_in(log_of(WARNED)) == ([], [log_of(WARNED)[1]])
    assert not complaints([*WARNED, *REPORT])


# A kernel without instrumentation makes tail calls, and what made them is not in the stack.
WARNED_OF_A_NEIGHBOUR = [
    "------------[ cut here ]------------",
    "WARNING: drivers/infiniband/sw/rxe/rxe_task.c:249 at rxe_sched_task+0x9c/0xb0 [rdma_rxe], CPU#0: kworker/u4:3/230",
    "Modules linked in: rpcordma(OE) sunrpc rdma_rxe",
    "RIP: 0010:rxe_sched_task+0x9c/0xb0 [rdma_rxe]",
    "Call Trace:",
    " <TASK>",
    " rxe_xmit_packet+0x16c/0x330 [rdma_rxe]",
    " rxe_requester+0x885/0x11f0 [rdma_rxe]",
    " rxe_sender+0x13/0x50 [rdma_rxe]",
    END_OF_STACK,
    "---[ end trace 0000000000000000 ]---",
]


def test_soft_roces_warning_of_a_neighbour_is_no_complaint() -> None:
    """The packet comes from the same device; but not where we are in the stack."""
    assert complaints_in(log_of(WARNED_OF_A_NEIGHBOUR)) == ([], [log_of(WARNED_OF_A_NEIGHBOUR)[1]])
    ours = [*WARNED_OF_A_NEIGHBOUR[:9], " rpcordma_send+0x1/0x2 [rpcordma]", *WARNED_OF_A_NEIGHBOUR[9:]]
    assert complaints(ours) == [WARNED_OF_A_NEIGHBOUR[1]]


NO_STATUS = "WARNING: drivers/infiniband/sw/rxe/rxe_comp.c:827 at rxe_completer+0xb8e/0xee0 [rdma_rxe]"
OUT_OF_SEQUENCE = [
    NO_STATUS,
    "Modules linked in: rpcordma(OE) sunrpc rdma_rxe",
    "Call Trace:",
    " <TASK>",
    " rxe_sender+0x1d/0x50 [rdma_rxe]",
    " do_work+0x6c/0x220 [rdma_rxe]",
    END_OF_STACK,
    "---[ end trace 0000000000000000 ]---",
]


def test_soft_roces_warning_of_a_packet_out_of_sequence_is_no_complaint() -> None:
    """Of the completer, which had it from the wire."""
    assert complaints_in(log_of(OUT_OF_SEQUENCE)) == ([], [log_of(OUT_OF_SEQUENCE)[0]])


@pytest.mark.parametrize("report", [
    pytest.param([NO_STATUS.replace("completer", "requester"), *OUT_OF_SEQUENCE[1:]], id="another function warns"),
    pytest.param([NO_STATUS.replace("rxe_comp.c", "rxe_req.c"), *OUT_OF_SEQUENCE[1:]], id="another file"),
    pytest.param([*OUT_OF_SEQUENCE[:4], ROCE_FRAME, *OUT_OF_SEQUENCE[5:]], id="the stack of the other mistake"),
    pytest.param([*OUT_OF_SEQUENCE[:5], " send+0x20/0x40 [rpcordma]", *OUT_OF_SEQUENCE[5:]], id="ours on the stack"),
    pytest.param(OUT_OF_SEQUENCE[:-1], id="a report that is cut off"),
])
def test_what_is_unlike_that_warning_is_one(report: list[str]) -> None:
    """Whatever lacks one of its marks is a complaint."""
    assert complaints(report) == [report[0]]


@pytest.mark.parametrize("report", [
    pytest.param([*WARNED[:5], WARNED[6], *WARNED[8:]], id="another function of soft-RoCE's"),
    pytest.param([*WARNED[:6], " send+0x20/0x40 [rpcordma]", *WARNED[6:]], id="ours on the stack"),
    pytest.param(WARNED[:-1], id="a report that is cut off"),
])
def test_another_warning_is_one(report: list[str]) -> None:
    """Whatever lacks one of its marks is a complaint."""
    assert complaints(report) == [WARNING]


@pytest.mark.parametrize("report", [
    pytest.param(replaced(ROCE_FRAME), id="another function of soft-RoCE's"),
    pytest.param(replaced(ROCE_FRAME, " ? rxe_resp_queue_pkt+0x24/0x90 [rdma_rxe]"), id="a mere guess"),
    pytest.param(replaced(ROCE_FRAME, " rxe_resp_queue_pkt+0x24/0x90 [rpcordma]"), id="a namesake"),
    pytest.param(replaced(END_OF_STACK, " send+0x20/0x40 [rpcordma]", END_OF_STACK), id="ours on the stack"),
    pytest.param(replaced(END_OF_STACK, " send+0x20/0x40 [rpcordma_kunit]", END_OF_STACK), id="ours under test"),
    pytest.param(replaced(END_OF_STACK, " ? send+0x20/0x40 [rpcordma]", END_OF_STACK), id="perhaps ours"),
    pytest.param(REPORT[:REPORT.index(ALLOCATED)], id="a report that is cut off"),
    pytest.param(REPORT[:REPORT.index(ALLOCATED)] + [BORDER], id="a report without what follows the stack"),
    pytest.param(REPORT[:5] + REPORT[REPORT.index(ALLOCATED):], id="no stack"),
])
def test_what_is_nearly_that_is_one(report: list[str]) -> None:
    """Whatever lacks one of its marks is a complaint."""
    assert complaints(report) == [HEADLINE]


@pytest.mark.parametrize("report, mistake", [(REPORT, ROCE_FRAME), (WARNED, ROCE_FRAME),
                                             (OUT_OF_SEQUENCE, OUT_OF_SEQUENCE[4])])
def test_soft_roces_mistake_in_an_interrupt_of_ours_is_excused(report: list[str], mistake: str) -> None:
    """What the interrupt has interrupted had no part in it; soft-RoCE below the interrupt is no excuse."""
    at = report.index(mistake) + 1
    interrupted = [" asm_common_interrupt+0x26/0x40", " send+0x20/0x40 [rpcordma]"]
    assert not complaints([*report[:at], *interrupted, *report[at:]])
    assert complaints([*report[:at - 1], interrupted[0], *report[at - 1:]]) != []


@pytest.mark.parametrize("said", ["DMA-API: debugging out of memory - disabling",
                                  "kmemleak: Kernel memory leak detector disabled"])
def test_a_detector_that_gives_up_is_a_complaint(said: str) -> None:
    """It would find nothing any more."""
    assert complaints([said]) == [said]


@pytest.mark.parametrize("headline", [
    "BUG: KASAN: slab-out-of-bounds in rxe_resp_queue_pkt+0x24/0x90 [rdma_rxe]",
    "BUG: KASAN: null-ptr-deref in rxe_resp_queue_pkt+0x24/0x90 [rdma_rxe]",
    "BUG: unable to handle page fault for address: ffff888012345678",
    "WARNING: CPU: 0 PID: 15 at drivers/infiniband/sw/rxe/rxe_comp.c:827",
    "general protection fault in rxe_resp_queue_pkt",
])
def test_other_complaints_with_that_stack_are_ones(headline: str) -> None:
    """It is a use after free that is known, and nothing else."""
    assert complaints(replaced(HEADLINE, headline)) == [headline]


def test_a_complaint_behind_an_excused_one_is_seen() -> None:
    """An excuse is for one report; and one without a stack does not borrow the next one's."""
    ours = "BUG: KASAN: slab-use-after-free in send+0x20/0x40 [rpcordma]"
    assert complaints([*REPORT, ours, *REPORT]) == [ours]
    assert complaints([*REPORT[:10], ours, *REPORT[10:]]) == [HEADLINE, ours]


RACE = [
    BORDER,
    "BUG: KCSAN: data-race in tick_nohz_handler / tick_nohz_idle_got_tick",
    "",
    "write to 0xffff88807db1fc78 of 4 bytes by interrupt on cpu 1:",
    " tick_nohz_handler+0xca/0x210",
    " __hrtimer_run_queues+0x363/0x620",
    "",
    "write to 0xffff88807db1fc78 of 4 bytes by task 0 on cpu 1:",
    " tick_nohz_idle_got_tick+0x3b/0x50",
    " do_idle+0x72/0x120",
    "",
    "Reported by Kernel Concurrency Sanitizer on:",
    BORDER,
]


def test_a_race_of_the_kernels_own_is_excused() -> None:
    assert not complaints(RACE)


@pytest.mark.parametrize("frame", [5, 9])
def test_a_race_with_ours_in_either_stack_is_not(frame: int) -> None:
    texts = [*RACE[:frame], " receive+0x12/0x80 [rpcordma_kunit]", *RACE[frame:]]
    assert complaints(texts) == [RACE[1]]


def test_a_race_of_an_interrupt_of_ours_is_excused() -> None:
    """Ours are below the interrupt; those of the other stack count all the same."""
    interrupted = [" asm_sysvec_apic_timer_interrupt+0x1b/0x20", " post+0x4f/0x70 [rpcordma]"]
    assert not complaints([*RACE[:6], *interrupted, *RACE[6:]])
    assert complaints([*RACE[:6], *reversed(interrupted), *RACE[6:]]) == [RACE[1]]
    texts = [*RACE[:6], *interrupted, *RACE[6:9], " receive+0x12/0x80 [rpcordma]", *RACE[9:]]
    assert complaints(texts) == [RACE[1]]


def test_a_report_of_a_race_that_is_cut_off_is_not() -> None:
    assert complaints(RACE[:-1]) == [RACE[1]]
