/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the entry, which module.c starts and stops. Process context; 0 or a negative errno. */
#ifndef RPCORDMA_ENTRY_PARTS_H
#define RPCORDMA_ENTRY_PARTS_H

int rpcordma_sysctls_register(void);
void rpcordma_sysctls_unregister(void);
int rpcordma_debugfs_create(void);
void rpcordma_debugfs_remove(void);
int rpcordma_netlink_register(void);
void rpcordma_netlink_unregister(void);
int rpcordma_requester_register(void);
void rpcordma_requester_unregister(void);
int rpcordma_responder_register(void);
void rpcordma_responder_unregister(void);
int rpcordma_reverse_requester_register(void);
void rpcordma_reverse_requester_unregister(void);

#endif
