# SPDX-License-Identifier: GPL-2.0-only
"""python3 -m rpcordmactl"""

import sys

from .command import main

sys.exit(main())
