/* SPDX-License-Identifier: GPL-2.0-only */
/* DMA of the fake device. */
#ifndef RPCORDMA_KUNIT_GLUE_DMA_H
#define RPCORDMA_KUNIT_GLUE_DMA_H

#include <linux/device.h>
#include <linux/dma-direction.h>
#include <linux/list.h>
#include <linux/spinlock.h>

/* What a device knows of DMA. Any context. */
struct fake_dma {
	/* Of all that follows. */
	spinlock_t lock;
	/* Of struct mapping. */
	struct list_head mappings;
	u32 count;
	u64 next_address;
	/* The nth mapping from now fails. */
	u32 fail_nth;
	/* Told of what is wrong, and asked before a mapping goes away. */
	void (*problem)(struct fake_dma *dma, const char *what);
	bool (*is_in_use)(struct fake_dma *dma, u64 address, size_t size);
};

/* Makes a device do its DMA by copies. */
void fake_dma_init(struct fake_dma *dma, struct device *device);
/* Copies between the device and memory that is mapped for that; false and a problem where it is not. */
bool fake_dma_read(struct fake_dma *dma, u64 address, void *to, size_t size);
bool fake_dma_write(struct fake_dma *dma, u64 address, const void *from, size_t size);
/* kmalloc() that no injected failure reaches. */
void *fake_alloc(size_t size);
/* Counts down, and is true when it arrives. */
bool fake_fails(u32 *nth);

#endif
