// SPDX-License-Identifier: GPL-2.0-only
/*
 * For rpc.gssd (LD_PRELOAD): there is no pipe called "krb5", only "gssd".
 *
 * rpc.gssd looks for "gssd" and then, where that is not there, for "krb5", which is for kernels before 2.6.29. A kernel that
 * makes both between the two looks has it take the old one for all its clients: no encryption types come by that, and
 * nobody is let in. Without this, "gssd" is looked for again when it is made.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* rpc.gssd creates no files: no mode follows. */
int openat(int directory, const char *path, int flags, ...)
{
	if (strcmp(path, "krb5") == 0) {
		errno = ENOENT;
		return -1;
	}
	return syscall(SYS_openat, directory, path, flags, 0);
}
