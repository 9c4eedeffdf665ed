# SPDX-License-Identifier: GPL-2.0-only
KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
top := $(CURDIR)
out := $(top)/build/$(KVER)

module:
	@mkdir -p $(out)/kmod/glue $(out)/generated/kernel
	@printf 'src := %s\ninclude $$(src)/Kbuild\n' '$(top)' | cmp -s - $(out)/Kbuild || \
		printf 'src := %s\ninclude $$(src)/Kbuild\n' '$(top)' > $(out)/Kbuild
	+$(MAKE) -C $(KDIR) M=$(out) modules
