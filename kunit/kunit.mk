# SPDX-License-Identifier: GPL-2.0-only
#
# rpcordma_kunit.ko, for kernels with KUnit: the module's own objects, and the tests. The unit tests of harness/unit are
# among those, against kunit/hosted in the place of GoogleTest; those in kcsan are for kernels with the race detector.

obj-m += rpcordma_kunit.o

# What is tested, and what that takes. One object of two modules is compiled for neither, as far as Kbuild is concerned;
# so they are joined in one of our own, from the same files that rpcordma.ko is linked from.
kunit-core-y := $(filter kmod/wire/% kmod/proto/% kmod/verbs/% kmod/server/pages.o,$(filter-out kmod/verbs/endpoint.o kmod/verbs/disconnection.o kmod/verbs/identifier.o kmod/verbs/queues.o,$(rpcordma-cxx-y))) \
		kmod/glue/events.o kmod/glue/inlines.o kmod/glue/log.o kmod/glue/memory.o kmod/glue/rt.o kmod/glue/svc_pages.o kmod/glue/sync.o kmod/glue/trace.o kmod/glue/verbs.o

kunit-unit-y := $(patsubst $(src)/%.cc,%.o,$(wildcard $(src)/harness/unit/*_test.cc))
kunit-folders := glue verbs server $(if $(CONFIG_KCSAN_WEAK_MEMORY),kcsan)
kunit-own-y := $(patsubst $(src)/%.cc,%.o,$(wildcard $(kunit-folders:%=$(src)/kunit/%/*_test.cc)))
kunit-cxx-y := kunit/first.o $(kunit-unit-y) $(kunit-own-y) kunit/last.o
kunit-c-y := $(patsubst $(src)/%.c,%.o,$(wildcard $(kunit-folders:%=$(src)/kunit/%/*.c)))

rpcordma_kunit-y := $(kunit-cxx-y) $(kunit-c-y) kunit/core.o

# The module says which suites it has: one that is lost on the way is found missing.
kunit-suites := $(sort $(patsubst %_test,rpcordma_%,$(basename $(notdir $(kunit-unit-y) $(kunit-own-y)))))
CFLAGS_kunit/glue/suites.o := -DRPCORDMA_KUNIT_SUITES='"$(kunit-suites)"'

# What later kernels than 6.12 have otherwise: memory is registered for users with a hint, KUnit passes the test where it asks for a
# parameter, devices map physical addresses in the place of pages.
kunit-since = $(if $(shell [ $$(($(VERSION) * 1000 + $(PATCHLEVEL))) -lt $(1) ] || echo newer),-D$(2))
ccflags-y += $(call kunit-since,6017,RPCORDMA_KUNIT_DMA_HINT) \
	     $(call kunit-since,6018,RPCORDMA_KUNIT_PASSES_TEST) \
	     $(call kunit-since,6019,RPCORDMA_KUNIT_MAPS_PHYSICAL)

# Tests need not be fast, but many expectations in one function take much stack.
$(addprefix $(obj)/,$(kunit-cxx-y)): private cxxflags-y += -I$(src)/kunit/hosted -include $(src)/kunit/hosted/throw.hh \
							-O1 -Wno-frame-larger-than \
							-Wno-missing-declarations
$(addprefix $(obj)/,$(kunit-cxx-y)): $(obj)/generated/kernel/layout.h

quiet_cmd_kunit_core = LD [M]  $@
      cmd_kunit_core = $(LD) $(ld_flags) -r -o $@ $(addprefix $(obj)/,$(kunit-core-y))
targets += kunit/core.o
$(obj)/kunit/core.o: $(addprefix $(obj)/,$(kunit-core-y)) FORCE
	$(call if_changed,kunit_core)

$(shell mkdir -p $(sort $(dir $(addprefix $(obj)/,$(rpcordma_kunit-y)))))
$(addprefix $(obj)/,$(kunit-c-y)): $(obj)/%.o: $(src)/%.c FORCE
	$(call if_changed_rule,cc_o_c)
$(addprefix $(obj)/,$(kunit-cxx-y)): $(obj)/%.o: $(src)/%.cc FORCE
	$(call if_changed_rule,cxx_o_cc)
