/* SPDX-License-Identifier: GPL-2.0-only */
/* KUnit as C++ sees it. */
#ifndef RPCORDMA_KUNIT_GLUE_KUNIT_H
#define RPCORDMA_KUNIT_GLUE_KUNIT_H

struct kunit;

/*
 * What newer kernels pass, too, where they ask for a parameter: the first in a function's list. kunit.mk says which
 * they are, because C++ has no header of the kernel's.
 */
#ifdef RPCORDMA_KUNIT_PASSES_TEST
#define RPCORDMA_KUNIT_FOR_TEST struct kunit *,
#else
#define RPCORDMA_KUNIT_FOR_TEST
#endif

/* A case, known by a pointer to it in the section of that name. */
struct rpcordma_kunit_case {
	/* The case's suite is named after its file. */
	const char *file;
	int line;
	const char *name;
	void (*run)(struct kunit *test);
	/* Null, or what gives one parameter after the other. */
	const void *(*next)(RPCORDMA_KUNIT_FOR_TEST const void *previous, char *description);
};

#define RPCORDMA_KUNIT_CASES ".rpcordma_kunit_cases"

#ifdef __cplusplus
extern "C" {
#endif

/* About the case that runs. */
void rpcordma_kunit_fail(const char *file, int line, const char *expectation);
void rpcordma_kunit_note(const char *what, const char *note);
bool rpcordma_kunit_has_failed(void);
const void *rpcordma_kunit_parameter(void);

void rpcordma_kunit_describe(char *description, const char *text);
void rpcordma_kunit_format(char *text, unsigned long size, long long value, bool is_unsigned);

/* Where the pointers begin and end: see first.cc and last.cc. */
extern const struct rpcordma_kunit_case *const rpcordma_kunit_first;
extern const struct rpcordma_kunit_case *const rpcordma_kunit_last;

#ifdef __cplusplus
}
#endif

#endif
