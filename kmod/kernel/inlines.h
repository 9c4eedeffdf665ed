/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions of inlines.def, declared. Part of glue.h. */
#define INLINE(ret, name, parameters, body) ret name parameters;
#include "kernel/inlines.def"
#undef INLINE
