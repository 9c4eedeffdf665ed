# SPDX-License-Identifier: GPL-2.0-only
"""The benchmark: our module and the in-tree one in turn, in guest instructions per operation."""
