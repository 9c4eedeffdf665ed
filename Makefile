# SPDX-License-Identifier: GPL-2.0-only
#
# The way in: "make help" lists the targets. How the module itself is built is in Kbuild.

KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build

# ARCH=arm64 on a machine of another kind: the kernel's build then takes the compiler whose name begins so.
ifeq ($(ARCH),arm64)
ifneq ($(shell uname -m),aarch64)
export CROSS_COMPILE ?= aarch64-linux-gnu-
endif
endif

out := $(CURDIR)/build/$(KVER)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: all module peer install install-peer install-ctl uninstall package demo check check-build check-unit check-kunit check-kcsan check-sanitized check-nfs \
	check-peer check-foreign check-install check-packages check-bench bench ordeal fuzz lint format vm compile_commands.json clean help

## make                   build rpcordma.ko for the running kernel, or for KVER=..., into build/KVER/; with ARCH=arm64
##                        and KVER= or KDIR= for a kernel of arm64, on another machine
all:
	@scripts/setup build
	@$(MAKE) --no-print-directory module

## make module            the same without fetching packages, for packages' builds and for kernels built by hand
# For scripts, too, which have called setup already. Kbuild wants its Kbuild file and the objects in one place: this
# gives each kernel a place of its own. Headers without vmlinux (6.1) allow no BTF, and would say so each time.
module:
	@scripts/check-toolchain '$(KVER)' '$(KDIR)'
	@mkdir -p '$(out)'
	@printf 'src := %s\ninclude $$(src)/Kbuild\n' '$(CURDIR)' >'$(out)/Kbuild'
	+@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) \
		-C '$(KDIR)' M='$(out)' $(if $(wildcard $(KDIR)/vmlinux),,CONFIG_DEBUG_INFO_BTF_MODULES=) modules

## make peer              build the conformance tester, build/peer/rpcordma-peer
peer:
	@scripts/setup peer
	@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) -C harness/peer

## make install           build it and put it where modprobe prefers it to the in-tree module (KVER=, DESTDIR=)
install: all
	@scripts/install install '$(KVER)'

## make uninstall         take away what install put there, completely
uninstall:
	@scripts/install uninstall '$(KVER)'

## make install-peer      the conformance tester, its cases, templates, man pages and completions (PREFIX=/usr/local, DESTDIR=)
PREFIX ?= /usr/local
# Debian's packages have another one.
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
peer-data := $(PREFIX)/share/rpcordma-peer
install-peer:
	@$(MAKE) --no-print-directory -C harness/peer CASES='$(peer-data)/cases' TEMPLATES='$(peer-data)/templates'
	install -D -t '$(DESTDIR)$(PREFIX)/bin' build/peer/rpcordma-peer
	cd harness/peer && find cases -name '*.case' -exec install -D -m 644 '{}' '$(abspath $(DESTDIR)/)$(peer-data)/{}' ';'
	install -D -m 644 -t '$(DESTDIR)$(peer-data)/templates' $(foreach kind,html xml css js,harness/peer/templates/*.$(kind))
	install -t '$(DESTDIR)$(peer-data)/templates' harness/peer/templates/render
	install -m 644 -t '$(DESTDIR)$(peer-data)' harness/peer/requirements.txt harness/peer/report.schema.json
	install -D -m 644 -t '$(DESTDIR)$(PREFIX)/share/man/man1' Documentation/rpcordma-peer.1
	install -D -m 644 -t '$(DESTDIR)$(PREFIX)/share/man/man5' Documentation/rpcordma-peer-case.5
	install -D -m 644 harness/peer/completion.bash '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/rpcordma-peer'
	install -D -m 644 harness/peer/completion.zsh '$(DESTDIR)$(ZSH_COMPLETIONS)/_rpcordma-peer'

## make install-ctl       rpcordmactl, its man page and completions (PREFIX=/usr/local, DESTDIR=)
install-ctl:
	install -D -m 644 -t '$(DESTDIR)$(PREFIX)/share/rpcordmactl/rpcordmactl' harness/ctl/rpcordmactl/*.py
	install -D -t '$(DESTDIR)$(PREFIX)/bin' scripts/rpcordmactl
	sed -i 's|^PACKAGE = .*|PACKAGE = "$(PREFIX)/share/rpcordmactl"|' '$(DESTDIR)$(PREFIX)/bin/rpcordmactl'
	install -D -m 644 -t '$(DESTDIR)$(PREFIX)/share/man/man8' Documentation/rpcordmactl.8
	install -D -m 644 harness/ctl/completion.bash '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/rpcordmactl'
	install -D -m 644 harness/ctl/completion.zsh '$(DESTDIR)$(ZSH_COMPLETIONS)/_rpcordmactl'

## make package           the Debian packages, in clean roots of Debian 12 and 13, into build/packages/RELEASE
package:
	@scripts/setup root
	@scripts/package

## make demo              in a virtual machine: mount NFS over soft-RoCE, copy and verify files, show what moved
demo:
	@scripts/setup build lab
	@scripts/demo

## make check             check-unit, -install, -build, -peer, -kunit, -nfs and -bench, then one summary (FULL=1: at full count)
check:
	@scripts/setup build lab unit peer kernel root $(browser)
	@scripts/check

## make check-bench       that an RPC of 4 KiB takes no more instructions than was recorded
check-bench:
	@scripts/setup build lab
	@scripts/check-bench

## make check-unit        unit tests of wire/ and proto/ on this machine, under ASan and UBSan, and a short fuzz run
check-unit:
	@scripts/setup unit
	@scripts/check-unit

## make check-foreign     unit tests, and those of the conformance tester, for arm64 and s390x, under QEMU's user-mode emulation
check-foreign:
	@scripts/setup root
	@scripts/check-foreign

# Other releases of Debian, and arm64; 13-cross is for Linux 7.3 on arm64.
roots = for root in 13 12-cross 12-arm64 $(if $(filter-out 0,$(FULL)),13-cross); do scripts/root $$root || exit; done

# It is large, and for a few tests only.
browser = $(if $(filter-out 0,$(FULL)),browser)

## make check-nfs         NFS over the module, in virtual machines (CELL=...: those tests; RESUME=1: what has not passed)
check-nfs:
	@scripts/setup build lab root
	@$(roots)
	@scripts/check-nfs

## make check-peer        the conformance tester: its own tests, and in virtual machines against the module
check-peer:
	@scripts/setup build lab peer root $(browser)
	@scripts/root 13
	@scripts/check-peer

## make check-build       that the module builds for each kernel here, without a warning
check-build:
	@scripts/setup build root
	@$(roots)
	@scripts/check-build

## make check-kunit       KUnit suites in a virtual machine with a kernel that has KASAN, lockdep, kmemleak and more
check-kunit:
	@scripts/setup build lab kernel
	@scripts/check-kunit

## make check-kcsan       the same with the kernel's race detector
check-kcsan:
	@scripts/setup build lab kernel
	@scripts/check-kunit --flavour kcsan

## make check-sanitized   NFS over the module in that kernel, with injected faults, over soft-RoCE and soft-iWARP
check-sanitized:
	@scripts/setup build lab peer kernel
	@scripts/check-sanitized

## make check-install     install and uninstall, on a throw-away view of this machine
check-install:
	@scripts/setup build lab
	@scripts/check-install

## make check-packages    the Debian packages: installed, upgraded with the kernel, and purged (RELEASES=13: only there)
check-packages:
	@scripts/setup build lab root
	@scripts/check-packages

## make bench             instructions per NFS operation, ours and the in-tree module's, and their ratio
bench:
	@scripts/setup build lab
	@scripts/bench

## make ordeal            NFS under faults for HOURS=n or MINUTES=n, every byte verified (SEED=n; RESUME=1: behind what the log has)
ordeal:
	@scripts/setup build lab peer root
	@scripts/root 13
	@scripts/ordeal $(if $(HOURS),--hours $(HOURS)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) \
		$(if $(filter-out 0,$(RESUME)),--resume)

## make fuzz              the fuzzers alone, SECONDS=n for each
fuzz:
	@scripts/setup unit
	@scripts/fuzz --coverage

## make lint              formatting, static analysis, and the rules of Documentation/architecture.rst
lint:
	@scripts/setup build lint
	@scripts/lint

## make format            what lint wants of the format of C and C++ sources
format:
	@scripts/setup lint
	@scripts/lint reformat

## make vm                a shell in a virtual machine with the module loaded (VM='--mount 4.2': options of scripts/vm shell)
vm:
	@scripts/setup build lab
	@scripts/vm shell $(VM)

## make compile_commands.json   what clangd wants to know (KVER=)
compile_commands.json: all
	@scripts/compile-commands '$(KVER)' >$@

## make clean             remove build/
clean:
	rm -rf build compile_commands.json

help:
	@sed -n 's/^## //p' Makefile
