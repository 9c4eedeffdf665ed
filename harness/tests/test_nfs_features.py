# SPDX-License-Identifier: GPL-2.0-only
"""What NFS has besides files: Kerberos, ACLs, extended attributes, long links, IPv6, secure exports."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from expectations import MEBIBYTE, mounted
from workloads import TRACE, connection_faults, kerberos, sysctl, traced

from lab import Pair
from lab.errors import CommandFailed

pytestmark = pytest.mark.about("client", "server")

CALLS_TO_PART = "/sys/module/connection_faults/parameters/calls_to_part"
REPLIES_TO_DISTRUST = "/sys/module/connection_faults/parameters/replies_to_distrust"


@pytest.mark.parametrize("flavour", ("krb5", "krb5i", "krb5p"))
def test_kerberos_protects_a_mount(pair: Pair, version: str, flavour: str) -> None:
    """Files travel unharmed; data that integrity or privacy covers does not travel by itself."""
    with kerberos(pair), \
            mounted(pair, version, security=flavour, server="server.lab.test") as mount:
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


@pytest.mark.about("client")
@pytest.mark.versions("3", "4.2")
def test_a_call_is_out_of_reach_before_it_is_encrypted_anew(pair: Pair, version: str, full: bool) -> None:
    """The connection closes just after a Call was sent: the server could still read pages that are freed."""
    count = 50 if full else 5
    size = 3 * count * MEBIBYTE
    with kerberos(pair), connection_faults(pair.client), \
            mounted(pair, version, security="krb5p", server="server.lab.test"):
        with traced(pair.client, events="rpcordma/rpcordma_call_fenced"):
            pair.client.run(f"echo {count} >{CALLS_TO_PART} && "
                            f"head -c {size} /dev/urandom >/tmp/secret && cp /tmp/secret /mnt/secret && "
                            "sync /mnt/secret", timeout=60 * count)
        assert pair.client.read(CALLS_TO_PART) == "0\n"
        assert (pair.client.output("sha256sum </tmp/secret")
                == pair.server.output("sha256sum </srv/nfs/tmpfs/secret"))
        pair.client.run("rm /mnt/secret")
    assert pair.client.read(TRACE).count("rpcordma_call_fenced:") >= count


@pytest.mark.about("client")
@pytest.mark.versions("3", "4.2")
def test_a_reply_that_cannot_be_verified_is_asked_for_again(pair: Pair, version: str) -> None:
    """Nothing is wrong with the connection, and no other Reply will come: the Call has to be sent again."""
    with kerberos(pair), \
            mounted(pair, version, security="krb5", server="server.lab.test", options="timeo=20"), \
            connection_faults(pair.client):
        pair.client.run("echo known >/mnt/file && sync /mnt/file")
        pair.client.run(f"echo 1 >{REPLIES_TO_DISTRUST}")
        # Not touch: Linux 7.3's server delegates a file's times, and its client then sends nothing.
        pair.client.run("chmod 640 /mnt/file", timeout=60)
        assert pair.client.read(REPLIES_TO_DISTRUST) == "0\n"
        assert pair.server.output("stat -c %a /srv/nfs/tmpfs/file") == "640\n"
        assert pair.client.read("/mnt/file") == "known\n"
        pair.client.run("rm /mnt/file")


@pytest.mark.each_side
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


@contextmanager
def secure_export(pair: Pair) -> Iterator[None]:
    """An export named "secure" for Calls from reserved ports only, as exports are by default."""
    pair.server.run("mkdir /srv/nfs/secure && mount -t tmpfs tmpfs /srv/nfs/secure && "
                    "exportfs -o rw,secure,no_root_squash,no_subtree_check,sec=sys,fsid=8 '*:/srv/nfs/secure'")
    yield
    pair.server.run("exportfs -u '*:/srv/nfs/secure' && umount /srv/nfs/secure && rmdir /srv/nfs/secure")


@pytest.mark.about("both together")
@pytest.mark.versions("4.0", "4.1", "4.2")
def test_a_secure_export_is_for_reserved_ports_where_the_server_asks_for_them(pair: Pair, version: str) -> None:
    """The client has one unless it is told otherwise, also on its next connection."""
    with secure_export(pair):
        with sysctl(pair.server, svc_rdma__reserved_ports=1):
            with mounted(pair, version, export="secure"):
                pair.client.run("echo one >/mnt/file && sync /mnt/file")
                pair.client.run(f"echo {pair.SERVER_ADDRESS} | tee /sys/kernel/sunrpc/xprt-switches/*/*-rdma/dstaddr")
                assert pair.client.output("echo two >>/mnt/file && sync /mnt/file && cat /mnt/file") == "one\ntwo\n"
            with pytest.raises(CommandFailed, match="Operation not permitted"):
                pair.mount(version, export="secure", options="noresvport")
        with mounted(pair, version, export="secure", options="noresvport"):
            assert pair.client.output("cat /mnt/file") == "one\ntwo\n"
