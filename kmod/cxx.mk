# SPDX-License-Identifier: GPL-2.0-only
#
# C++ under Kbuild: rule_cxx_o_cc makes an object of a .cc file. The compiler is the kernel's own $(CC), whose driver
# runs cc1plus for .cc files; code generation is the kernel's, dialect and warnings are ours.

# The kernel's C command line without its dialect and its warnings (but with what only looks like a warning). libstdc++ has
# functions of long double, which Clang does not even read without the 80387; GCC fails where somebody calls one.
cxx-from-c = $(filter-out -std=% -W% $(if $(CONFIG_CC_IS_CLANG),-mno-80387 -mno-fp-ret-in-387), $(1)) \
	     $(filter -Wa$(comma)% -Wp$(comma)% -Wframe-larger-than=%, $(1))

# -fbuiltin gives memcpy and its like back to the optimiser, which -ffreestanding takes away.
# -fno-gnu-unique: see cxx_o_cc. The sanitizer turns std::unreachable() into a trap: objtool refuses a function that
# runs off its end. A kernel with UBSAN has a function for that, and for what else it finds: there nothing traps.
# No .cold parts: objtool of 6.1 fails for those of functions with long names.
# What is declared inline is inlined as with -O3: a cursor over a message is nothing but such functions.
cxx-dialect := -std=gnu++2b -ffreestanding -fbuiltin -fno-exceptions -fno-rtti \
	       -fsanitize=unreachable $(if $(CONFIG_UBSAN),,-fsanitize-undefined-trap-on-error)
ifdef CONFIG_CC_IS_GCC
cxx-dialect += -fno-gnu-unique -fno-reorder-blocks-and-partition \
	       --param=max-inline-insns-single=200 --param=inline-min-speedup=15
endif

# Most kernels have functions that spin_lock() and spin_unlock() are: C++ calls these, without one of ours around them.
spin-locks-are-functions := $(if $(CONFIG_SMP),$(if $(CONFIG_PREEMPT_RT)$(CONFIG_INLINE_SPIN_LOCK),,$(CONFIG_UNINLINE_SPIN_UNLOCK)))
cxx-dialect += $(if $(spin-locks-are-functions),-DRPCORDMA_SPIN_LOCK=_raw_spin_lock -DRPCORDMA_SPIN_UNLOCK=_raw_spin_unlock)

# GCC for arm64 would call functions of libgcc for atomic operations, which the kernel does not have.
cxx-dialect += $(if $(CONFIG_ARM64),-mno-outline-atomics)

cxx-warnings := -Wall -Wextra -Wundef -Wvla -Wnon-virtual-dtor -Woverloaded-virtual \
		-Wsuggest-override -Wdeprecated-copy-dtor -Wmissing-declarations -Werror=return-type -Werror=date-time
# Of fences, which GCC says that its race detector does not know. KCSAN does: kunit/kcsan.
cxx-warnings += $(if $(CONFIG_KCSAN),$(if $(CONFIG_CC_IS_GCC),-Wno-tsan))

# Full debug information of C++ makes pahole fail, and with it the module's BTF.
cxx-debug := -g1

# No header of the C library: the C++ and the compiler's directories only, after our few stand-ins. Clang has to be told for which
# machine; cross compilers have the C library's headers beside C++'s.
cxx-system-dirs := $(shell $(CC) $(CLANG_FLAGS) -xc++ -E -Wp,-v /dev/null 2>&1 | \
		   sed -n '/-linux-gnu\/include$$/d; /^ .*\/\(c++\|gcc\|gcc-cross\|clang\)\//p')
cxx-include := -nostdinc -isystem $(src)/kmod/freestanding $(addprefix -isystem ,$(cxx-system-dirs)) \
	       -include $(src)/kmod/freestanding/freestanding.hh

cxx_flags = -Wp,-MMD,$(depfile) $(cxx-include) $(cxx-warnings) \
	    $(call cxx-from-c, $(_c_flags) $(modkern_cflags)) \
	    $(cxx-dialect) $(cxx-debug) $(cxxflags-y) $(CXXFLAGS_$(target-stem).o) \
	    $(basename_flags) $(modname_flags)

# Inline functions and templates come in COMDAT groups, which ld -r drops while __mcount_loc still points into them.
# Without the group they are plain weak functions: the first copy wins. GNU unique symbols cannot be treated so.
quiet_cmd_cxx_o_cc = CXX $(quiet_modtag)  $@
      cmd_cxx_o_cc = $(CC) $(cxx_flags) -c -o $@ $<; \
		     $(OBJCOPY) --remove-section=.group $@ $(cmd_objtool)

# C++ objects' constructors are not run, and there is no thread_local: such code must not get in. Kernels with
# CONFIG_CONSTRUCTORS (KASAN, KCSAN, gcov) do run those that the compiler makes for itself, in every object.
cxx-unwanted := _GLOBAL__sub_[ID]_[^ ]*|\.(tbss|tdata)\b
ifndef CONFIG_CONSTRUCTORS
cxx-unwanted := $(cxx-unwanted)|\.(init_array|ctors|fini_array|dtors)\b
endif
cmd_cxx_check = \
	if $(NM) $@ | grep -E ' U __aarch64_(cas|swp|ld)' >&2; then \
		echo '$<: error: atomic operations are calls into libgcc, named above: kmod/cxx.mk has -mno-outline-atomics against that' >&2; \
		false; \
	fi; \
	if { $(NM) $@; $(OBJDUMP) -h $@; } | grep -oE '$(cxx-unwanted)' >&2; then \
		echo '$<: error: dynamic initialisation or thread_local, named above' >&2; false; \
	fi

define rule_cxx_o_cc
	$(call cmd_and_fixdep,cxx_o_cc)
	$(call cmd,cxx_check)
	$(call cmd,gen_objtooldep)
	$(call cmd,record_mcount)
endef
