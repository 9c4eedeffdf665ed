# SPDX-License-Identifier: GPL-2.0-only
"""A guest's kernel log, and what in it is a complaint."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

# The kernel speaks of its own mistakes in these words. A test in whose guest it does so has failed.
COMPLAINT = re.compile(
    r"\bBUG:|\bWARNING:|\bOops\b|INFO: task |blocked for more than|general protection"
    r"|possible circular locking|possible recursive locking|inconsistent lock state"
    r"|KASAN:|KCSAN:|UBSAN:|refcount_t:|list_(add|del) corruption|kernel BUG at|Kernel panic"
    r"|unreferenced object|rpcordma: .*leaked|DMA-API: .*rpcordma"
    # It looks for nothing any more.
    r"|DMA-API: .*disabling|kmemleak: .*disabled"
    r"|rcu: INFO: .*stall|INFO: trying to register non-static key|^\(lab: records were lost")

# Under load soft-RoCE finds a queue pair by its number that is being freed, or puts a packet into the queue of one that
# has been destroyed meanwhile. Who destroyed it is in the report, too, behind the stack of the access, and may be us.
FREED = re.compile(r"BUG: KASAN: (slab-)?use-after-free in "
                   r"|WARNING: .*\bdrivers/infiniband/sw/rxe/rxe_task\.c:")
FINDS_FREED = re.compile(r"^\s+(rxe_resp_queue_pkt|rxe_pool_get_index)\+\S+ \[rdma_rxe\]")
# Before, soft-RoCE warns that nobody has it. Where the packet is for the same device, and the functions between make
# tail calls, only the sender is in the stack.
UNOWNED = re.compile(r"WARNING: .*\bdrivers/infiniband/sw/rxe/rxe_task\.c:.*\brxe_sched_task\+")
SENDER = re.compile(r"^\s+rxe_xmit_packet\+\S+ \[rdma_rxe\]")
# It fails a work request without a status where a packet of an RDMA Read Response is out of sequence, and warns.
NO_STATUS = re.compile(r"WARNING: .*\bdrivers/infiniband/sw/rxe/rxe_comp\.c:.*\brxe_completer\+")
COMPLETER = re.compile(r"^\s+(rxe_completer|rxe_sender)\+\S+ \[rdma_rxe\]")
# Each with the function of soft-RoCE's that is in the stack then.
SOFT_ROCES = ((FREED, FINDS_FREED), (UNOWNED, SENDER), (NO_STATUS, COMPLETER))
# Two of the kernel's own functions may race, and no function of ours is in the report then.
RACE = re.compile(r"BUG: KCSAN: data-race in ")
ACCESS = re.compile(r" to 0x[0-9a-f]+ of \d+ bytes? by ")
OURS = re.compile(r"\[rpcordma")
# An interrupt's stack goes on with that of what it has interrupted, which may be ours, and has no part in what happens.
INTERRUPTED = re.compile(r"^\s+asm_(common_interrupt|sysvec_\w+)\+")
STACK_BEGINS = re.compile(r"^(Call Trace:|\s*<(TASK|IRQ|NMI)>)")
STACK_ENDS = re.compile(r"^(Allocated by task|Freed by task|Last potentially related work|The buggy address"
                        r"|---\[ end trace)")
BORDER = re.compile(r"^={60,}$")


@dataclass(frozen=True)
class KernelMessage:
    """One record of a guest's kernel log."""

    level: int
    time: float
    text: str

    def __str__(self) -> str:
        return f"[{self.time:12.6f}] {self.text}"


def complaints_in(log: Sequence[KernelMessage]) -> tuple[list[KernelMessage], list[KernelMessage]]:
    """What the kernel complains of, and apart from that what it is excused for."""
    complaints: list[KernelMessage] = []
    excused: list[KernelMessage] = []
    for number, message in enumerate(log):
        if not message.text.startswith("lab: ") and COMPLAINT.search(message.text):
            is_excused = is_soft_roces(log[number:]) or is_race_of_others(log[number:])
            (excused if is_excused else complaints).append(message)
    return complaints, excused


def is_soft_roces(log: Sequence[KernelMessage]) -> bool:
    """Whether the log begins with the report of a mistake of soft-RoCE's own.

    It has used a queue pair that was freed, or is about to be, or has failed a work request without a status. It is
    known by its stack, which is whole and has none of our functions.
    """
    functions = [function for headline, function in SOFT_ROCES if headline.search(log[0].text)]
    stack = list(takewhile(lambda line: not INTERRUPTED.match(line), stack_of(log[1:])))
    return (any(function.match(line) for function in functions for line in stack)
            and not any(OURS.search(line) for line in stack))


def is_race_of_others(log: Sequence[KernelMessage]) -> bool:
    """Whether the log begins with a whole report of KCSAN's in which none of our functions is."""
    if not RACE.search(log[0].text):
        return False
    in_interrupted = False
    for message in log:
        if ACCESS.search(message.text):
            in_interrupted = False
        in_interrupted = in_interrupted or bool(INTERRUPTED.match(message.text))
        if OURS.search(message.text) and not in_interrupted:
            return False
        if BORDER.match(message.text):
            return True
    return False


def stack_of(report: Sequence[KernelMessage]) -> list[str]:
    """The first stack of a report; empty where it does not end in the report's own words."""
    stack: list[str] = []
    for message in report:
        if BORDER.match(message.text) or COMPLAINT.search(message.text):
            break
        if stack and STACK_ENDS.match(message.text):
            return stack
        if stack or STACK_BEGINS.match(message.text):
            stack.append(message.text)
    return []
