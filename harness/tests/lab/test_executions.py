# SPDX-License-Identifier: GPL-2.0-only
"""What make bench's plugin of QEMU sees in an instruction of x86-64."""

import subprocess
from collections.abc import Callable

import pytest

from bench.profile import SOURCE

ADDRESS = 0xffffffff81000000
# What QEMU would tell, of one instruction. Its interface is that of Debian 12's QEMU, or the one since version 9.1.
QEMU = f"""
#include <stddef.h>
#include <stdint.h>
#include <string.h>
struct qemu_plugin_insn {{ uint8_t bytes[16]; size_t size; }} instruction;
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *i) {{ return i->size; }}
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *i) {{ (void)i; return {ADDRESS}U; }}
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const void *b, size_t i)
{{ (void)b; (void)i; return &instruction; }}
size_t qemu_plugin_tb_n_insns(const void *b) {{ (void)b; return 1; }}
uint64_t qemu_plugin_tb_vaddr(const void *b) {{ (void)b; return {ADDRESS}U; }}
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t p, void *t) {{ (void)p; (void)t; }}
"""
INTERFACES = {1: """
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *i) { return i->bytes; }
void qemu_plugin_register_vcpu_tb_exec_inline(void *b, int o, uint64_t *n, uint64_t v)
{ (void)b; (void)o; *n += v; }
""", 3: """
struct number { char *board; size_t offset; };
static char boards[1 << 20];
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *i, void *to, size_t length)
{ memcpy(to, i->bytes, length); return length; }
void *qemu_plugin_scoreboard_new(size_t size) { static size_t used; used += size; return boards + used - size; }
void *qemu_plugin_scoreboard_find(void *board, unsigned int processor) { (void)processor; return board; }
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(void *b, int o, struct number n, uint64_t v)
{ (void)b; (void)o; *(uint64_t *)(n.board + n.offset) += v; }
"""}
# The instruction's bytes are the arguments; it is translated, and as the stub has it executed, three times.
MAIN = f"""
#include "{SOURCE}"
extern struct qemu_plugin_insn {{ uint8_t bytes[16]; size_t size; }} instruction;
int main(int count, char **bytes)
{{
    for (int i = 1; i < count; i++)
        instruction.bytes[instruction.size++] = strtoul(bytes[i], NULL, 16);
    is_x86_64 = true;
    struct stretch stretch = describe(NULL);
    for (int i = 0; i < 3; i++)
        translated(0, NULL);
    printf("%d %d %d %lx", qemu_plugin_version, (int)executions_of(count_of(&stretch)), (int)stretch.locked,
           (unsigned long)stretch.target);
}}
"""

Seen = Callable[[str], tuple[bool, int]]


@pytest.fixture(scope="module", params=INTERFACES)
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Whether it is locked, and what it calls."""
    directory = tmp_path_factory.mktemp("executions")
    program = directory / "seen"
    for name, source in (("qemu", QEMU + INTERFACES[request.param]), ("seen", MAIN)):
        (directory / f"{name}.c").write_text(source, encoding="utf-8")
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", directory / "qemu.c", directory / "seen.c", "-o", program,
                    "-pthread"], check=True)

    def see(instruction: str) -> tuple[bool, int]:
        version, executions, locked, target = subprocess.run(
            [program, *instruction.split()], capture_output=True, text=True, check=True).stdout.split()
        assert (version, executions) == (str(request.param), "3")
        return locked == "1", int(target, 16)
    return see


@pytest.mark.parametrize("instruction", [
    "f0 0f b1 0a",              # lock cmpxchg %ecx,(%rdx)
    "3e 0f b1 0a",              # the same, as the kernel writes it where there is one processor
    "f0 48 0f c1 03",           # lock xadd %rax,(%rbx)
    "f0 66 0f c1 03",           # lock xadd %ax,(%rbx)
    "f0 0f ba 2b 00",           # lock btsl $0,(%rbx)
    "f0 ff 03", "3e ff 0b",     # lock incl (%rbx), lock decl (%rbx)
    "f0 83 44 24 fc 00",        # lock addl $0,-4(%rsp)
    "87 02", "48 87 02"])       # xchg with memory, which needs no prefix
def test_locked(seen: Seen, instruction: str) -> None:
    """They have the memory for themselves."""
    assert seen(instruction) == (True, 0)


@pytest.mark.parametrize("instruction", [
    "0f b1 0a",                 # cmpxchg %ecx,(%rdx)
    "87 c2",                    # xchg between registers
    "48 89 03", "ff 03",        # mov, incl
    "3e ff e0", "3e ff d0",     # notrack jmp *%rax, notrack call *%rax
    "3e 74 05", "3e 0f 84 00 01 00 00",   # jumps with a hint
    "3e 48 8b 03"])             # a load, with the prefix
def test_not_locked(seen: Seen, instruction: str) -> None:
    """They have not, whatever stands before them."""
    assert seen(instruction) == (False, 0)


@pytest.mark.parametrize(("instruction", "target"), [
    ("e8 00 01 00 00", ADDRESS + 0x105), ("e9 fb ff ff ff", ADDRESS), ("e8 fb fe ff ff", ADDRESS - 0x100),
    ("eb 05", 0), ("ff d0", 0), ("0f 84 00 01 00 00", 0)])
def test_what_is_called(seen: Seen, instruction: str, target: int) -> None:
    """By calls and jumps that say it themselves, forwards and backwards."""
    assert seen(instruction) == (False, target)
