/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Of which kind the arrays of pages of a service's thread are (struct svc_rqst). Both kinds compile as either, and the
 * wrong one hands out pages that somebody else has, or none: layout.c refuses a kernel that has neither.
 */
#ifndef RPCORDMA_GLUE_SVC_PAGES_H
#define RPCORDMA_GLUE_SVC_PAGES_H

#include <linux/version.h>

/*
 * 1: an array for the Call and one for the Reply. sunrpc fills again as many at the beginning of the former as
 * rq_pages_nfree says, and of the latter those before rq_next_page.
 * 0: one array for both, the Reply's behind the Call's. sunrpc fills again whatever is missing.
 */
#define RPCORDMA_REPLY_PAGES_APART (LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0))

#endif
