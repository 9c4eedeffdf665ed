// SPDX-License-Identifier: GPL-2.0-only
/*
 * DMA by copies, as an IOMMU with bounce buffers does it: each mapping is memory of its own at an address of its own.
 * The device sees the processor's bytes after a mapping or a sync only, and the other way round.
 */
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/fault-inject.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "kunit/glue/dma.h"

struct mapping {
	struct list_head list;
	u64 address;
	size_t size;
	enum dma_data_direction direction;
	void *memory;
	void *copy;
	/* The processor has it, from a sync to the next one. */
	bool is_processors;
};

static struct fake_dma *dma_of(struct device *device)
{
	return dev_get_drvdata(device);
}

void *fake_alloc(size_t size)
{
	unsigned int fail_nth = current->fail_nth;
	void *memory;

	current->fail_nth = 0;
	memory = kzalloc(size, GFP_ATOMIC | __GFP_NOWARN);
	current->fail_nth = fail_nth;
	return memory;
}

bool fake_fails(u32 *nth)
{
	return *nth != 0 && --*nth == 0;
}

/* The mapping that holds the range. Under the lock. */
static struct mapping *find(struct fake_dma *dma, u64 address, size_t size)
{
	struct mapping *mapping;

	list_for_each_entry(mapping, &dma->mappings, list) {
		if (address >= mapping->address && address + size <= mapping->address + mapping->size)
			return mapping;
	}
	return NULL;
}

static void to_device(struct mapping *mapping, u64 address, size_t size)
{
	size_t offset = address - mapping->address;

	memcpy(mapping->copy + offset, mapping->memory + offset, size);
}

static void to_processor(struct mapping *mapping, u64 address, size_t size)
{
	size_t offset = address - mapping->address;

	memcpy(mapping->memory + offset, mapping->copy + offset, size);
}

static dma_addr_t add_mapping(struct fake_dma *dma, void *memory, size_t size, enum dma_data_direction direction)
{
	struct mapping *mapping = fake_alloc(sizeof(*mapping));
	void *copy = fake_alloc(size);
	unsigned long flags;

	if (!mapping || !copy) {
		kfree(mapping);
		kfree(copy);
		return DMA_MAPPING_ERROR;
	}
	mapping->size = size;
	mapping->direction = direction;
	mapping->memory = memory;
	mapping->copy = copy;

	spin_lock_irqsave(&dma->lock, flags);
	/* No two mappings are neighbours, and an address is never used again. */
	mapping->address = dma->next_address + offset_in_page(memory);
	dma->next_address += PAGE_ALIGN(offset_in_page(memory) + size) + PAGE_SIZE;
	to_device(mapping, mapping->address, size);
	list_add(&mapping->list, &dma->mappings);
	dma->count++;
	spin_unlock_irqrestore(&dma->lock, flags);
	return mapping->address;
}

static void remove_mapping(struct fake_dma *dma, u64 address, size_t size, unsigned long attributes)
{
	struct mapping *mapping;
	unsigned long flags;

	if (dma->is_in_use(dma, address, size))
		dma->problem(dma, "memory was unmapped that the device or the peer can still reach");
	spin_lock_irqsave(&dma->lock, flags);
	mapping = find(dma, address, size);
	if (mapping) {
		list_del(&mapping->list);
		dma->count--;
		if (mapping->direction != DMA_TO_DEVICE && !(attributes & DMA_ATTR_SKIP_CPU_SYNC))
			to_processor(mapping, address, size);
	}
	spin_unlock_irqrestore(&dma->lock, flags);
	if (!mapping) {
		dma->problem(dma, "memory was unmapped that was not mapped");
		return;
	}
	kfree(mapping->copy);
	kfree(mapping);
}

static dma_addr_t map_physical(struct device *device, phys_addr_t address, size_t size,
			       enum dma_data_direction direction, unsigned long attributes)
{
	struct fake_dma *dma = dma_of(device);

	if (fake_fails(&dma->fail_nth))
		return DMA_MAPPING_ERROR;
	return add_mapping(dma, phys_to_virt(address), size, direction);
}

#ifndef RPCORDMA_KUNIT_MAPS_PHYSICAL
static dma_addr_t map_page(struct device *device, struct page *page, unsigned long offset, size_t size,
			   enum dma_data_direction direction, unsigned long attributes)
{
	return map_physical(device, page_to_phys(page) + offset, size, direction, attributes);
}
#endif

static void unmap_one(struct device *device, dma_addr_t address, size_t size, enum dma_data_direction direction,
		      unsigned long attributes)
{
	remove_mapping(dma_of(device), address, size, attributes);
}

static void unmap_list(struct device *device, struct scatterlist *list, int entries, enum dma_data_direction direction,
		       unsigned long attributes)
{
	struct scatterlist *entry;
	int i;

	for_each_sg(list, entry, entries, i)
		remove_mapping(dma_of(device), sg_dma_address(entry), sg_dma_len(entry), attributes);
}

static int map_list(struct device *device, struct scatterlist *list, int entries, enum dma_data_direction direction,
		    unsigned long attributes)
{
	struct fake_dma *dma = dma_of(device);
	struct scatterlist *entry;
	int i;

	for_each_sg(list, entry, entries, i) {
		sg_dma_len(entry) = entry->length;
		sg_dma_address(entry) = fake_fails(&dma->fail_nth) ?
						DMA_MAPPING_ERROR :
						add_mapping(dma, sg_virt(entry), entry->length, direction);
		if (sg_dma_address(entry) == DMA_MAPPING_ERROR) {
			unmap_list(device, list, i, direction, attributes);
			return -ENOMEM;
		}
	}
	return entries;
}

/* Syncs a range of a mapping, which is somebody's from now on. */
static void sync(struct device *device, u64 address, size_t size, bool is_processors)
{
	struct fake_dma *dma = dma_of(device);
	struct mapping *mapping;
	unsigned long flags;

	spin_lock_irqsave(&dma->lock, flags);
	mapping = find(dma, address, size);
	if (mapping) {
		if (is_processors && mapping->direction != DMA_TO_DEVICE)
			to_processor(mapping, address, size);
		if (!is_processors && mapping->direction != DMA_FROM_DEVICE)
			to_device(mapping, address, size);
		mapping->is_processors = is_processors;
	}
	spin_unlock_irqrestore(&dma->lock, flags);
	if (!mapping)
		dma->problem(dma, "memory was synced that is not mapped");
}

static void sync_for_cpu(struct device *device, dma_addr_t address, size_t size, enum dma_data_direction direction)
{
	sync(device, address, size, true);
}

static void sync_for_device(struct device *device, dma_addr_t address, size_t size, enum dma_data_direction direction)
{
	sync(device, address, size, false);
}

static const struct dma_map_ops fake_dma_ops = {
#ifndef RPCORDMA_KUNIT_MAPS_PHYSICAL
	.map_page = map_page,
	.unmap_page = unmap_one,
#else
	.map_phys = map_physical,
	.unmap_phys = unmap_one,
#endif
	.map_sg = map_list,
	.unmap_sg = unmap_list,
	.sync_single_for_cpu = sync_for_cpu,
	.sync_single_for_device = sync_for_device,
};

static const char *access_problem(struct mapping *mapping, enum dma_data_direction refused)
{
	if (!mapping)
		return "the device reached for memory that is not mapped";
	if (mapping->direction == refused)
		return "the device used memory in the direction that it is not mapped for";
	if (mapping->is_processors)
		return "the device used memory that the processor has (no sync for the device)";
	return NULL;
}

bool fake_dma_read(struct fake_dma *dma, u64 address, void *to, size_t size)
{
	struct mapping *mapping;
	const char *problem;
	unsigned long flags;

	spin_lock_irqsave(&dma->lock, flags);
	mapping = find(dma, address, size);
	problem = access_problem(mapping, DMA_FROM_DEVICE);
	if (!problem)
		memcpy(to, mapping->copy + (address - mapping->address), size);
	spin_unlock_irqrestore(&dma->lock, flags);
	if (problem)
		dma->problem(dma, problem);
	return !problem;
}

bool fake_dma_write(struct fake_dma *dma, u64 address, const void *from, size_t size)
{
	struct mapping *mapping;
	const char *problem;
	unsigned long flags;

	spin_lock_irqsave(&dma->lock, flags);
	mapping = find(dma, address, size);
	problem = access_problem(mapping, DMA_TO_DEVICE);
	if (!problem)
		memcpy(mapping->copy + (address - mapping->address), from, size);
	spin_unlock_irqrestore(&dma->lock, flags);
	if (problem)
		dma->problem(dma, problem);
	return !problem;
}

void fake_dma_init(struct fake_dma *dma, struct device *device)
{
	spin_lock_init(&dma->lock);
	INIT_LIST_HEAD(&dma->mappings);
	dma->next_address = SZ_1G;
	dev_set_drvdata(device, dma);
	set_dma_ops(device, &fake_dma_ops);
	dma_coerce_mask_and_coherent(device, DMA_BIT_MASK(64));
	dma_set_max_seg_size(device, UINT_MAX);
}
