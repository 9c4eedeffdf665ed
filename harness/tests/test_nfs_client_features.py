# SPDX-License-Identifier: GPL-2.0-only
"""What NFS has besides files, where the client is what matters: locks, namespaces, callbacks."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from expectations import assert_carried_by_rdma, eventually, mounted
from workloads import guest_python

from lab import Guest, Pair
from lab.module import module_file
from lab.nfs import STOCK, load_command
from lab.paths import CHECKOUT

pytestmark = pytest.mark.about("client")

# Not the defaults; and a sysctl of sunrpc's that is not the module's.
SETTINGS = {"sunrpc.rdma_slot_table_entries": 77, "sunrpc.svc_rdma.max_requests": 33}
NOT_A_SETTING = "sunrpc.tcp_max_slot_table_entries"


@pytest.mark.versions("3")
def test_a_lock_is_seen_by_both_sides(pair: Pair, version: str) -> None:
    """What one side has locked, the other finds busy, until it is released."""
    here, there = "/mnt/locked", "/srv/nfs/ext4/locked"
    with mounted(pair, version, export="ext4"):
        pair.client.run(f"echo x >{here}")
        holder = pair.client.spawn(guest_python("lock.py", "hold", here))
        holder.expect("locked", timeout=60)
        assert pair.server.output(guest_python("lock.py", "try", there)) == "busy\n"
        holder.kill()
        holder.wait(60)
        assert pair.server.output(guest_python("lock.py", "try", there)) == "free\n"

        holder = pair.server.spawn(guest_python("lock.py", "hold", there))
        holder.expect("locked", timeout=60)
        assert pair.client.output(guest_python("lock.py", "try", here)) == "busy\n"
        waiter = pair.client.spawn(guest_python("lock.py", "hold", here))
        assert waiter.status is None
        holder.kill()
        waiter.expect("locked", timeout=120)
        waiter.kill()
        waiter.wait(60)
        pair.client.run(f"rm {here}")


def test_a_namespace_without_the_device_cannot_mount(pair: Pair, version: str) -> None:
    """Soft-RoCE lives in the first network namespace: a mount in another fails, and it can go."""
    remote = "10.9.0.1:" + ("/srv/nfs/tmpfs" if version == "3" else "/tmpfs")
    options = f"vers={version},proto=rdma,port=20049,soft,timeo=50,retrans=1,retry=0"
    for _ in range(3):
        pair.client.run("ip netns add elsewhere && ip -n elsewhere link set lo up")
        attempt = pair.client.run(
            "ip netns exec elsewhere mount -t nfs -o "
            f"{options}{',mountproto=tcp,nolock' if version == '3' else ''} {remote} /mnt",
            timeout=300, check=False)
        assert attempt.status != 0
        pair.client.run("ip netns delete elsewhere")
    with mounted(pair, version) as mount:
        assert_carried_by_rdma(pair, mount)


@pytest.mark.once_per_pair
def test_beside_the_in_tree_module_it_says_what_to_do(pair: Pair) -> None:
    """A kernel has one of the two at a time: loading the other fails, and the log says why and what helps."""
    pair.unload_client_transport()
    pair.client.run(load_command(STOCK, pair.client.kernel))
    pair.client.mark("the in-tree module is loaded")
    begin = len(pair.client.kernel_log)
    refused = pair.client.run(f"insmod {module_file(pair.client.kernel)}", check=False)
    # Not "File exists", which modprobe takes for success.
    assert refused.status != 0 and "Device or resource busy" in refused.stdout
    pair.client.mark("ours is not")
    said = [message.text for message in pair.client.kernel_log[begin:] if "rpcordma:" in message.text]
    assert len(said) == 1 and "another module" in said[0] and "rmmod rpcrdma" in said[0]
    pair.unload_client_transport()
    pair.load_client_transport()
    with mounted(pair, "4.2") as mount:
        assert_carried_by_rdma(pair, mount)


@contextmanager
def few_modules(guest: Guest) -> Iterator[None]:
    """The guest has no more modules than rpcrdma and what that needs: depmod takes a minute for all."""
    there = f"/lib/modules/{guest.kernel.release}"
    guest.run("mkdir /tmp/few && modprobe --show-depends rpcrdma | awk '{ print $2 }' | "
              f"xargs cp --parents -t /tmp/few {there}/modules.order {there}/modules.builtin && "
              f"mount --bind /tmp/few/{there} {there}")
    yield
    guest.run(f"umount {there} && rm -r /tmp/few")


@contextmanager
def udev(guest: Guest, settings: dict[str, int]) -> Iterator[None]:
    """The guest has udev, as elsewhere it has not, and these sysctls in /run/sysctl.d."""
    lines = " ".join(f"{name}={value}" for name, value in settings.items())
    guest.run(f"mkdir -p /run/sysctl.d && printf '%s\\n' {lines} >/run/sysctl.d/test.conf && "
              "/lib/systemd/systemd-udevd --daemon")
    yield
    guest.run("udevadm control --exit && rm /run/sysctl.d/test.conf")


@pytest.mark.once_per_pair
def test_installing_says_how_to_change_over(pair: Pair) -> None:
    """The commands that it prints, and those of uninstalling, exchange the module that is loaded.

    Whenever ours is loaded, its settings in sysctl.d are applied, and no others of sunrpc's.
    """
    def follow_install() -> None:
        follow("install", "rpcordma")
        client.run("udevadm settle")
        names = " ".join((*SETTINGS, NOT_A_SETTING))
        assert client.output(f"sysctl -n {names}").split() == [*map(str, SETTINGS.values()), usual]

    def follow(action: str, loaded: str) -> None:
        said = client.output(f"cd {CHECKOUT} && scripts/install {action} {client.kernel.release}", timeout=600)
        command = re.search(r"loaded.*: (rmmod .* && modprobe .*), or restart", said)
        assert command, said
        client.run(command[1])
        assert client.output("awk '/^rpco?rdma / { print $1 }' /proc/modules").split() == [loaded]

    client = pair.client
    pair.unload_client_transport()
    client.run(load_command(STOCK, client.kernel))
    usual = client.output(f"sysctl -n {NOT_A_SETTING}").strip()
    with few_modules(client), udev(client, {**SETTINGS, NOT_A_SETTING: int(usual) + 1}):
        follow_install()
        follow_install()
        follow("uninstall", "rpcrdma")
    pair.unload_client_transport()
    pair.load_client_transport()


@pytest.mark.once_per_pair
@pytest.mark.clients("6.12", "7.3")
def test_transport_layer_security_is_refused(pair: Pair) -> None:
    """xprtsec= is for TCP: with RDMA the mount fails at once. (Linux 6.1 has no such option.)"""
    attempt = pair.client.run("mount -t nfs -o vers=4.2,proto=rdma,port=20049,xprtsec=tls,retry=0 "
                              f"{pair.SERVER_ADDRESS}:/tmpfs /mnt", timeout=60, check=False)
    assert attempt.status != 0
    assert "nfs" not in pair.client.output("awk '$2 == \"/mnt\"' /proc/mounts")


@pytest.mark.about("client", "server")
@pytest.mark.each_side
@pytest.mark.versions("4.1", "4.2")
def test_the_server_reaches_the_callback_service(pair: Pair, version: str) -> None:
    """The reverse direction carries the server's first Call, and its Reply."""
    with mounted(pair, version):
        eventually(pair.server, "grep -qs 'callback state: UP' /proc/fs/nfsd/clients/*/info", 60)
