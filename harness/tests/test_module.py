# SPDX-License-Identifier: GPL-2.0-only
"""Loading the module where it cannot be."""

import pytest

from lab import Pair
from lab.module import module_file
from lab.nfs import MODULES, OURS, modules_loaded

pytestmark = [pytest.mark.about("client"), pytest.mark.once_per_pair]


def test_a_module_that_finds_another_one_says_so(pair: Pair) -> None:
    """To modprobe "File exists" is success: only the module itself beside itself may say that."""
    loaded = modules_loaded(pair.server)
    with_itself = pair.server_module == MODULES[OURS]
    result = pair.server.run(f"insmod {module_file(pair.server.kernel)}", check=False)
    assert result.status != 0
    assert ("File exists" if with_itself else "Device or resource busy") in result.stdout
    assert modules_loaded(pair.server) == loaded
    log = pair.server.output("dmesg | grep -c 'rpcordma: another module serves RPC over RDMA already' || :")
    assert (int(log) > 0) != with_itself
