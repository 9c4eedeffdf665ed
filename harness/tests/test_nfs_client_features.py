# SPDX-License-Identifier: GPL-2.0-only
"""What NFS has besides files: locks, Kerberos, ACLs, extended attributes, long links."""

import pytest
from expectations import MEBIBYTE, assert_carried_by_rdma, mounted
from workloads import guest_python

from lab import Pair

pytestmark = pytest.mark.about("client")


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


def set_up_kerberos(pair: Pair) -> None:
    """Makes the realm, unless this pair has it."""
    if pair.client.run("test -e /etc/krb5.keytab", check=False).status != 0:
        keytab = pair.server.script("kerberos", "server", timeout=300)
        pair.client.script("kerberos", "client", keytab.strip())


@pytest.mark.parametrize("flavour", ("krb5", "krb5i", "krb5p"))
def test_kerberos_protects_a_mount(pair: Pair, version: str, flavour: str) -> None:
    """Files travel unharmed; data that integrity or privacy covers does not travel by itself."""
    set_up_kerberos(pair)
    with mounted(pair, version, security=flavour, server="server.lab.test") as mount:
        before = mount.stats()
        checksum = pair.client.output(
            f"head -c {8 * MEBIBYTE} /dev/urandom >/tmp/secret && cp /tmp/secret /mnt/secret && "
            "sync /mnt/secret && sha256sum </tmp/secret", timeout=300)
        written = mount.stats()
        assert pair.server.output("sha256sum </srv/nfs/tmpfs/secret") == checksum
        mount.renew()
        assert pair.client.output("sha256sum </mnt/secret", timeout=300) == checksum
        pair.client.run("rm /mnt/secret")
    long_calls = written.total("nomsg_calls") - before.total("nomsg_calls")
    if flavour == "krb5":
        assert long_calls == 0
    else:
        assert long_calls >= 8


@pytest.mark.versions("3", "4.2")
def test_long_acls_are_set_and_shown(pair: Pair, version: str) -> None:
    """An ACL too long for a message goes to the server and comes back."""
    users = range(2000, 2200)
    with mounted(pair, version, export="ext4") as mount:
        pair.client.run("echo x >/mnt/acl")
        if version == "3":
            entries = [f"user:{user}:rw-" for user in users]
            pair.client.run(f"setfacl -m {','.join(entries)} /mnt/acl")
        else:
            # Each is added to the list that the server has, so that reading a long one counts too.
            entries = ["A::OWNER@:rwatTcCy", *(f"A::{user}:rwatcy" for user in users),
                       "A::GROUP@:rtcy", "A::EVERYONE@:rtcy"]
            pair.client.write("/tmp/acl", "\n".join(entries) + "\n")
            pair.client.run("nfs4_setfacl -S /tmp/acl /mnt/acl")
        on_server = pair.server.output("getfacl --omit-header --absolute-names "
                                       "--numeric /srv/nfs/ext4/acl").split()
        assert [line for line in on_server if line.startswith("user:2")] == [
            f"user:{user}:rw-" for user in users]
        mount.renew()
        shown = pair.client.output("getfacl --omit-header --absolute-names --numeric /mnt/acl"
                                   if version == "3" else "nfs4_getfacl /mnt/acl")
        missing = [user for user in users if f":{user}:" not in shown]
        assert not missing
        pair.client.run("rm /mnt/acl")


@pytest.mark.versions("4.2")
def test_large_extended_attributes_come_back(pair: Pair, version: str) -> None:
    """A value of 60,000 bytes, and a list of 20,000 bytes of names."""
    exported = "/srv/nfs/xfs"
    prefix, names = "long-" * 40, 100
    # getfattr asks for the size first, as it must: a buffer too short for the value is a Reply
    # chunk too short for the reply, and the server cannot answer with more than an error.
    show = "getfattr --absolute-names --only-values -n user.large"
    with mounted(pair, version, export="xfs") as mount:
        pair.client.run("echo x >/mnt/x && head -c 30000 /dev/urandom | od -An -v -t x1 | "
                        "tr -d ' \\n' >/tmp/value && "
                        "setfattr -n user.large -v \"$(cat /tmp/value)\" /mnt/x")
        pair.client.run(f"for i in $(seq {names}); do setfattr -n user.{prefix}$i -v x /mnt/x || "
                        "exit 1; done", timeout=600)
        value = pair.client.read("/tmp/value")
        assert len(value) == 60_000
        assert pair.server.output(f"{show} {exported}/x") == value
        mount.renew()
        assert pair.client.output(f"{show} /mnt/x") == value
        listed = pair.client.output("getfattr --absolute-names /mnt/x")
        assert listed.count(f"user.{prefix}") == names
        pair.client.run("rm /mnt/x")


def test_long_symbolic_links_are_read(pair: Pair, version: str) -> None:
    """Targets of up to 4,000 bytes, made by either side."""
    lengths = (1, 100, 1000, 2000, 3000, 4000)
    with mounted(pair, version) as mount:
        for length in lengths:
            target = "x" * length
            pair.client.run(f"ln -s {target} /mnt/link{length}")
            pair.server.run(f"ln -s {target} /srv/nfs/tmpfs/served{length}")
            assert pair.server.output(f"readlink -n /srv/nfs/tmpfs/link{length}") == target
        mount.renew()
        for length in lengths:
            assert pair.client.output(f"readlink -n /mnt/link{length}") == "x" * length
            assert pair.client.output(f"readlink -n /mnt/served{length}") == "x" * length
        pair.client.run("rm /mnt/link* /mnt/served*")


def test_an_ipv6_server_is_mounted(pair: Pair, version: str) -> None:
    """The netid rdma6."""
    with mounted(pair, version, server=pair.SERVER_ADDRESS_6, protocol="rdma6") as mount:
        assert mount.options()["proto"] == "rdma6"
        checksum = pair.client.output("head -c 1M /dev/urandom >/tmp/six && cp /tmp/six /mnt/six "
                                      "&& sync /mnt/six && sha256sum </tmp/six")
        assert pair.server.output("sha256sum </srv/nfs/tmpfs/six") == checksum
        pair.client.run("rm /mnt/six")


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
@pytest.mark.clients("6.12")
def test_transport_layer_security_is_refused(pair: Pair) -> None:
    """xprtsec= is for TCP: with RDMA the mount fails at once. (Linux 6.1 has no such option.)"""
    attempt = pair.client.run("mount -t nfs -o vers=4.2,proto=rdma,port=20049,xprtsec=tls,retry=0 "
                              f"{pair.SERVER_ADDRESS}:/tmpfs /mnt", timeout=60, check=False)
    assert attempt.status != 0
    assert "nfs" not in pair.client.output("awk '$2 == \"/mnt\"' /proc/mounts")


@pytest.mark.versions("4.1", "4.2")
def test_the_server_reaches_the_callback_service(pair: Pair, version: str) -> None:
    """The reverse direction carries the server's first Call, and its Reply."""
    with mounted(pair, version):
        # The file cannot be waited for, only looked at.
        pair.server.run("timeout 60 sh -c 'until grep -qs \"callback state: UP\" "
                        "/proc/fs/nfsd/clients/*/info; do sleep 0.1; done'", timeout=90)
