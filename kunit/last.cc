// SPDX-License-Identifier: GPL-2.0-only
/* Linked behind all cases: see glue/kunit.h. */
#include "kunit/glue/kunit.h"

extern "C" [[gnu::section(RPCORDMA_KUNIT_CASES),
	     gnu::used]] constinit const rpcordma_kunit_case *const rpcordma_kunit_last = nullptr;
