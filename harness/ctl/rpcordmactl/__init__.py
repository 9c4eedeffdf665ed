# SPDX-License-Identifier: GPL-2.0-only
"""rpcordmactl: shows what the rpcordma module does, by its netlink family."""
