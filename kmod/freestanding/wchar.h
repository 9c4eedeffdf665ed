/* SPDX-License-Identifier: GPL-2.0-only */
/* What <string_view> needs of the C library's header of this name. */
#ifndef RPCORDMA_WCHAR_H
#define RPCORDMA_WCHAR_H

#include <stddef.h>

typedef unsigned int wint_t;
typedef struct {
	int count;
} mbstate_t;

#endif
