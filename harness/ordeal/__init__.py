# SPDX-License-Identifier: GPL-2.0-only
"""The ordeal: verified load under faults that a seed chooses, for as long as one likes."""
