// SPDX-License-Identifier: GPL-2.0-only
/* Memory. */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/xdr.h>

#include "kernel/glue.h"

unsigned int rpcordma_reclaim_scope_enter(bool reserves)
{
	unsigned int outer = current->flags & (PF_MEMALLOC_NOIO | PF_MEMALLOC);

	current->flags |= PF_MEMALLOC_NOIO | (reserves ? PF_MEMALLOC : 0);
	return outer;
}

void rpcordma_reclaim_scope_leave(unsigned int outer)
{
	current->flags = (current->flags & ~(PF_MEMALLOC_NOIO | PF_MEMALLOC)) | outer;
}

int rpcordma_fill_sparse_pages(struct xdr_buf *buffer)
{
	struct page **page = buffer->pages + (buffer->page_base >> PAGE_SHIFT);
	struct page **end = buffer->pages + DIV_ROUND_UP(buffer->page_base + buffer->page_len, PAGE_SIZE);

	for (; page < end; page++) {
		if (!*page)
			*page = alloc_page(GFP_NOWAIT | __GFP_NOWARN);
		if (!*page)
			return -ENOMEM;
	}
	return 0;
}
