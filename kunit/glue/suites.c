// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit's edge: makes suites of the cases that C++ has left in a section, runs them when the module is loaded, and
 * tells KUnit what they find.
 */
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "kunit/glue/kunit.h"

static char *only;
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "suites to run, separated by commas; all of them by default");

static struct kunit_suite **suites;
static int suite_count;

void rpcordma_kunit_fail(const char *file, int line, const char *expectation)
{
	struct kunit *test = kunit_get_current_test();

	kunit_err(test, "# %s: EXPECTATION FAILED at %s:%d: %s\n", test->name, file, line, expectation);
	kunit_set_failure(test);
}

void rpcordma_kunit_note(const char *what, const char *note)
{
	kunit_err(kunit_get_current_test(), "    %s %s\n", what, note);
}

bool rpcordma_kunit_has_failed(void)
{
	return READ_ONCE(kunit_get_current_test()->status) == KUNIT_FAILURE;
}

const void *rpcordma_kunit_parameter(void)
{
	return kunit_get_current_test()->param_value;
}

void rpcordma_kunit_describe(char *description, const char *text)
{
	strscpy(description, text, KUNIT_PARAM_DESC_SIZE);
}

void rpcordma_kunit_format(char *text, unsigned long size, long long value, bool is_unsigned)
{
	snprintf(text, size, is_unsigned ? "%llu" : "%lld", value);
}

/* harness/unit/header_test.cc: header */
static void name_suite(char *name, size_t size, const char *file)
{
	const char *slash = strrchr(file, '/');
	const char *stem = slash ? slash + 1 : file;
	const char *end = strstr(stem, "_test.");

	snprintf(name, size, "rpcordma_%.*s", (int)(end ? end - stem : strlen(stem)), stem);
}

static bool is_wanted(const char *name)
{
	const size_t length = strlen(name);
	const char *at = only;

	if (!only)
		return true;
	while ((at = strstr(at, name))) {
		if ((at == only || at[-1] == ',') && (at[length] == '\0' || at[length] == ','))
			return true;
		at += length;
	}
	return false;
}

/* The compiler leaves the cases of a file in any order. */
static int by_line(const void *a, const void *b)
{
	const struct rpcordma_kunit_case *const *one = a, *const *other = b;

	return (*one)->line - (*other)->line;
}

static struct kunit_suite *make_suite(const struct rpcordma_kunit_case **cases, int count)
{
	struct kunit_suite *suite = kzalloc(sizeof(*suite), GFP_KERNEL);
	struct kunit_case *made = kcalloc(count + 1, sizeof(*made), GFP_KERNEL);
	int i;

	if (!suite || !made) {
		kfree(suite);
		kfree(made);
		return NULL;
	}
	sort(cases, count, sizeof(*cases), by_line, NULL);
	for (i = 0; i < count; i++) {
		made[i].name = cases[i]->name;
		made[i].run_case = cases[i]->run;
		made[i].generate_params = cases[i]->next;
		made[i].module_name = KBUILD_MODNAME;
	}
	suite->test_cases = made;
	/* KUnit has the name as a constant, for suites that the compiler makes. */
	name_suite((char *)suite->name, sizeof(suite->name), cases[0]->file);
	return suite;
}

static void free_suite(struct kunit_suite *suite)
{
	kfree(suite->test_cases);
	kfree(suite);
}

static void free_suites(void)
{
	while (suite_count > 0)
		free_suite(suites[--suite_count]);
	kfree(suites);
}

/* Cases of one file stand together. */
static int make_suites(const struct rpcordma_kunit_case **cases, int count)
{
	int first = 0;

	while (first < count) {
		struct kunit_suite *suite;
		int end = first + 1;

		while (end < count && strcmp(cases[first]->file, cases[end]->file) == 0)
			end++;
		suite = make_suite(cases + first, end - first);
		if (!suite)
			return -ENOMEM;
		suites[suite_count++] = suite;
		if (!is_wanted(suite->name))
			free_suite(suites[--suite_count]);
		first = end;
	}
	return 0;
}

static int __init rpcordma_kunit_init(void)
{
	/* Hidden from the compiler, which takes what is behind a variable for an overflow. */
	const struct rpcordma_kunit_case *const *first = RELOC_HIDE(&rpcordma_kunit_first, sizeof(void *));
	int count = &rpcordma_kunit_last - first;
	const struct rpcordma_kunit_case **cases = kmemdup(first, count * sizeof(*cases), GFP_KERNEL);
	int error = -ENOMEM;

	suites = kcalloc(count, sizeof(*suites), GFP_KERNEL);
	if (cases && suites)
		error = make_suites(cases, count);
	kfree(cases);
	if (error) {
		free_suites();
		return error;
	}
#ifdef RPCORDMA_KUNIT_PASSES_TEST
	return __kunit_test_suites_init(suites, suite_count, true);
#else
	return __kunit_test_suites_init(suites, suite_count);
#endif
}

static void __exit rpcordma_kunit_exit(void)
{
	__kunit_test_suites_exit(suites, suite_count);
	free_suites();
}

module_init(rpcordma_kunit_init);
module_exit(rpcordma_kunit_exit);

MODULE_DESCRIPTION("KUnit suites of rpcordma");
MODULE_LICENSE("GPL");
MODULE_INFO(suites, RPCORDMA_KUNIT_SUITES);
