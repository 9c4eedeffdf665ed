// SPDX-License-Identifier: GPL-2.0-only
/* What debugfs shows: how many objects of each kind there are. */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "entry/parts.h"
#include "verbs/live_objects.h"

static struct dentry *directory;

DEFINE_SHOW_ATTRIBUTE(rpcordma_live_objects);

/* Nothing depends on it, so that it may fail. */
int rpcordma_debugfs_create(void)
{
	directory = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("live_objects", 0444, directory, NULL, &rpcordma_live_objects_fops);
	return 0;
}

void rpcordma_debugfs_remove(void)
{
	debugfs_remove(directory);
}
