# SPDX-License-Identifier: GPL-2.0-only
"""One run: two guests that are up, load, faults, and what must hold at the end."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from expectations import OFFERED, connections, live_objects, mounted, rdma_resources, wait_for_resources
from lab import Guest, Mount, Pair
from lab.detectors import dma_errors, forget_leaks, leaks
from lab.errors import GuestDied, LabError, LabTimeout
from lab.machines import complaints_of
from ordeal import recorder
from ordeal.faults import KINDS, THREADS, clean_up, preparation
from ordeal.load import Load, last_lines
from ordeal.record import PASSED, Happened, Record
from ordeal.schedule import BOTH, EXT4, STOCK, SYS, Cell, Fault, faults
from workloads import guest_python, kerberos, revive_device, usual_lease

# What the first part of the load may take to begin, and what it may take without a fault.
BEGIN_SECONDS = 120
# The throughput is measured for so long.
QUIET_SECONDS = 15
# So much of the throughput before the first fault must be there after the last. Machines that share processors with
# others differ a lot from minute to minute.
KEPT_THROUGHPUT = 0.25
# A machine that does something else for a while does not do so each time.
MEASUREMENTS = 3
# How much less memory may be available at the end, in MiB: kernels keep some of what they have used.
KEPT_MEMORY = 48
# For how long the load may stand still while there is no fault, on a machine that does other things.
QUIET_STALL = 30
LEFT_SECONDS = 120
# Within so many seconds the server finds that the other end of a connection is gone.
NOTICED_SECONDS = 90
# Nobody else is this user, or one after it.
FIRST_USER = 20000
LOCK_SECONDS = 60
# A client that has not reached a server for a while waits 20 seconds between attempts. With NFS 4.0 the grace time is
# over only then; with others, as soon as all have reclaimed.
GRACE_SECONDS = 30
# The flavour of the test kernel that also looks for leaks and for errors of DMA.
WITH_KMEMLEAK = "debug"
# What test kernels leave out, and what they alone have.
NOT_TEST = ("swap",)
NEED_TEST = ("sunrpc-injected",)
NEED_DEBUG = ("memory-injected",)
# ext4 alone has all then that it has acknowledged. tmpfs is gone, and on XFS a hole can have the bytes again that were
# there before the file was cut.
NEED_EXT4 = ("server-crashed",)
# What is about our module at one end.
NEED_OUR_SERVER = ("module-reloaded", "hostile-peer", "changed-messages")
NEED_OUR_CLIENT = ("changed-replies", "swap")
# soft-RoCE may die of these, and the in-tree client does not let go of a device that is to be made anew.
NEED_OURS = ("impaired-network", "blackout", "link-down", "address-removed")
# The server is the KDC, too, and knows nobody any more when it is booted. Linux's client would use Kerberos with the
# peer that sends changed messages. A page that is swapped out would have to be encrypted with memory that there is not.
NOT_KERBEROS = ("server-crashed", "changed-replies", "swap")
# With these nfsd forgets what it has answered. With no other is an operation carried out twice.
FORGETS = ("nfsd-restarted", "module-reloaded", "server-crashed")
# And with this one, where the memory is the server's.
FORGETS_AT_THE_SERVER = "memory-pressure"
# What ends a run that did not pass, whoever is to blame.
ERRORS = (LabError, AssertionError, ValueError, LookupError, OSError)
# As the client finds it, and as a principal of Kerberos is named.
SERVER_NAME = "server.lab.test"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Idle:
    """What is there while nothing is mounted."""

    resources: dict[str, object]
    objects: dict[str, dict[str, int]]
    memory: dict[str, int]

    @classmethod
    def of(cls, pair: Pair) -> "Idle":
        """What is there now."""
        return cls({guest.name: rdma_resources(guest) for guest in pair.ours},
                   {guest.name: live_objects(guest) for guest in pair.ours},
                   {guest.name: available(guest, "sync; echo 3 >/proc/sys/vm/drop_caches; ") for guest in pair.guests})


def possible_kinds(cell: Cell) -> list[str]:
    """The kinds of faults that can be had there."""
    reasons = {NOT_TEST: cell.flavour != STOCK, NEED_TEST: cell.flavour == STOCK,
               NEED_DEBUG: cell.flavour != WITH_KMEMLEAK, NEED_EXT4: cell.export != EXT4,
               NEED_OUR_SERVER: cell.ours == "client", NEED_OUR_CLIENT: cell.ours == "server",
               NEED_OURS: cell.ours != BOTH, NOT_KERBEROS: cell.security != SYS}
    left_out = {kind for kinds, holds in reasons.items() if holds for kind in kinds}
    return [kind for kind in KINDS if kind not in left_out]


class Run:
    """A run, in a pair of guests that are up and have nothing mounted."""

    def __init__(self, pair: Pair, record: Record, say: Say):
        self.pair = pair
        self.record = record
        self.say = say
        # When the client had sent how many Calls.
        self._sent = (0.0, 0)
        # Until when it is known whether the load stood still, in seconds since the client's boot.
        self._watched = 0.0

    def endure(self, seconds: float, kinds: Sequence[str], least: int = 1) -> None:
        """Does all of it, with as many faults as there is time for, but at least so many; the record has the outcome.

        Raises what ended a run that did not pass.
        """
        begin = time.monotonic()
        try:
            self._endure(begin + seconds, kinds, least)
            self.record.outcome = PASSED
        except ERRORS as error:
            self.record.outcome = f"failed: {error}"
            raise
        finally:
            self.record.minutes = (time.monotonic() - begin) / 60

    def _endure(self, end: float, kinds: Sequence[str], least: int) -> None:
        pair, cell = self.pair, self.record.cell
        with (highest_protocol(pair.client, cell), prepared(pair), long_enough_lease(pair, cell.nfs),
              kerberos(pair) if cell.security != SYS else nullcontext()):
            for guest in pair.guests:
                forget_leaks(guest)
            idle = Idle.of(pair)
            self._look_at_memory()
            named = {} if cell.security == SYS else {"server": SERVER_NAME}
            with mounted(pair, cell.nfs, export=cell.export, security=cell.security, **named) as mount:
                load = Load(pair.client, mount.path, self.record.seed, cell.nfs)
                load.wait_until_on(0.0, BEGIN_SECONDS)
                self._watched = uptime(pair.client)
                self.record.throughput.append(self._throughput(mount))
                self._calls_since_last(mount)
                for fault in faults(self.record.seed, kinds):
                    if (time.monotonic() > end and fault.number > least) or self._is_deaf():
                        break
                    self._do(fault, load, mount)
                assert self.record.faults, "there was no fault"
                self.record.throughput.append(self._throughput_at_last(mount))
                self._has_not_stood_still(load, uptime(pair.client))
                self._finish(load, mount)
                self._orphans_end()
            self._nothing_is_left(idle)

    def _do(self, fault: Fault, load: Load, mount: Mount) -> None:
        """One fault, and the load that has to go on after it."""
        one = KINDS[fault.kind]
        self.say(f"fault {fault.number}: {fault.kind}")
        if self.record.cell.nfs == "4.0":
            self._be_remembered(fault.number, load)
        begin = uptime(self.pair.client)
        self._has_not_stood_still(load, begin)
        limit = one.limit + self._pace(load)
        shown = fault.kind
        try:
            done = one.act(self.pair, fault.draw())
            shown = f"{fault.kind}: {done.what}"
            end = self._wait_until_on(load, limit)
            self._lock_is_held(load)
            self._is_quiet(f"fault {fault.number}")
            recovery = load.recovery(end)
            happened = Happened(fault.number, fault.kind, done.what, done.count, begin, round(end - begin, 2),
                                round(recovery, 2), round(load.stall(begin, end + recovery), 2),
                                self._calls_since_last(mount))
            most = one.longest_stall(happened.seconds, self.pair.client.slowness)
            assert happened.stall <= most, f"the load stood still for {happened.stall} s, {most:.1f} are the most"
        except ERRORS as error:
            raise LabError(f"fault {fault.number} ({shown}): {error}") from error
        self.record.faults.append(happened)
        self._watched = end + recovery
        self._look_at_memory()
        self.say(f"fault {fault.number}: {done.what}; the load went on after {recovery:.1f} s, longest stall "
                 f"{happened.stall:.1f} s")

    def _is_deaf(self) -> bool:
        """Whether a kernel has reported something that it is excused for, and has not looked at locks since."""
        deaf = [guest.name for guest in self.pair.guests if any("KASAN: " in message.text for message in guest.excused)]
        for name in deaf:
            self.say(f"the kernel of the {name} has reported what soft-RoCE does, and finds less now: the faults end")
        return bool(deaf)

    def _has_not_stood_still(self, load: Load, end: float) -> None:
        """From what is known to then, in which there was no fault."""
        stall = load.stall(self._watched, end)
        self.record.quiet_stall = max(self.record.quiet_stall, round(stall, 2))
        most = QUIET_STALL * self.pair.client.slowness
        assert stall <= most, (f"the load stood still for {stall:.1f} s without a fault, from {self._watched:.0f} s to "
                               f"{end:.0f} s of the client's, {most} are the most")

    def _pace(self, load: Load) -> float:
        """What the load takes on this machine to say that it goes on, of what it may take without a fault."""
        faults_before = [(fault.at, fault.at + fault.seconds + fault.recovery) for fault in self.record.faults]
        # Who waits for it lets it take so many times as long.
        return min(load.pace(faults_before) / self.pair.client.slowness, BEGIN_SECONDS)

    def _be_remembered(self, number: int, load: Load) -> None:
        """Has nfsd note, for its next start, that the client may reclaim then.

        It does so when a user's first OPEN of NFS 4.0 is confirmed. A client that has only reclaimed since the last
        start is not noted, and loses everything with the next one. What nfsdcld has noted in the last seconds goes with
        the power: SQLite does not wait until its journal is gone from the directory, and rolls back by one it finds.
        """
        self.pair.client.run(f"setpriv --reuid {FIRST_USER + number} cat {load.directory}/lock")
        self.pair.server.run("sync -f /var/lib/nfs")

    def _wait_until_on(self, load: Load, limit: float) -> float:
        """Waits for the load after a fault; returns when the fault was over.

        It is over when soft-RoCE, which may have died of it, is alive again. It can also die of a message that was
        under way then.
        """
        self._revive()
        end = uptime(self.pair.client)
        try:
            load.wait_until_on(end, limit)
        except LabTimeout:
            if not self._revive():
                raise
            end = uptime(self.pair.client)
            load.wait_until_on(end, limit)
        return end

    def _revive(self) -> bool:
        """Renews soft-RoCE devices that have died."""
        dead = [guest.name for guest in self.pair.guests if revive_device(guest)]
        for name in dead:
            self.say(f"soft-RoCE of the {name} had died, and has been renewed")
        self.record.revived += len(dead)
        return bool(dead)

    def _lock_is_held(self, load: Load) -> None:
        """The server knows of the lock that the client has held from the beginning."""
        if load.held is None:
            return
        command = guest_python("lock.py", "try", f"/srv/nfs/{self.record.cell.export}/lock")
        deadline = self._deadline(LOCK_SECONDS)
        # Who reclaims it after the server was away does so when it can; that can only be looked at.
        while self.pair.server.output(command) != "busy\n":
            assert time.monotonic() < deadline, "the server does not know of the client's lock any more"

    def _deadline(self, seconds: float) -> float:
        """The end of a wait of so long from now, by time.monotonic(), with kernels that are not slow."""
        return time.monotonic() + seconds * self.pair.server.slowness

    def _is_quiet(self, mark: str) -> None:
        complaints = [line for guest in self.pair.guests for line in complaints_of(guest, mark)]
        assert not complaints, "a kernel complained:\n" + "\n".join(complaints)

    # Figures

    def _throughput_at_last(self, mount: Mount) -> dict[str, float]:
        """After the last fault. It is measured until it is as it has to be, and not too often."""
        for _ in range(MEASUREMENTS):
            figures = self._throughput(mount)
            if is_kept(self.record.throughput[0], figures):
                break
        return figures

    def _throughput(self, mount: Mount) -> dict[str, float]:
        """How many calls and bytes there are in a second while nothing happens."""
        def counts() -> tuple[float, int, int]:
            stats = mount.stats()
            return (uptime(self.pair.client), stats.total("sends"),
                    stats.total("total_request_bytes") + stats.total("total_reply_bytes"))
        before = counts()
        self.pair.client.run(f"sleep {QUIET_SECONDS}")
        seconds, calls, octets = (after - earlier for earlier, after in zip(before, counts()))
        figures = {"calls": round(calls / seconds, 1), "mebibytes": round(octets / seconds / (1 << 20), 2)}
        self.say(f"{figures['calls']} calls and {figures['mebibytes']} MiB a second")
        return figures

    def _calls_since_last(self, mount: Mount) -> float:
        """How many calls there were in a second since this was asked last."""
        before, self._sent = self._sent, (uptime(self.pair.client), mount.stats().total("sends"))
        seconds, calls = (after - earlier for earlier, after in zip(before, self._sent))
        return round(calls / seconds, 1)

    def _look_at_memory(self) -> None:
        client, server = self.pair.client, self.pair.server
        self.record.memory.append((round(uptime(client)), available(client), available(server)))

    # The end

    def _finish(self, load: Load, mount: Mount) -> None:
        """All of it was right, and the server has what the client has."""
        client, server, export = self.pair.client, self.pair.server, f"/srv/nfs/{self.record.cell.export}"
        self.record.work = load.finish()
        self.record.excused = sum(len(guest.excused) for guest in self.pair.guests)
        self.say(f"the load has ended: {self.record.work}")
        wrong = [at for at in load.replayed() if not any(may_replay(fault, at) for fault in self.record.faults)]
        assert not wrong, f"operations were carried out twice, though nfsd had not forgotten them: at {wrong} s"
        mount.renew()
        shown = "cd {} && find . | LC_ALL=C sort && find . -type f | LC_ALL=C sort | xargs -r sha256sum"
        there = client.output(shown.format(mount.path), LEFT_SECONDS)
        assert "model-cached" in there and there == server.output(shown.format(export), LEFT_SECONDS), \
            "the client does not see what the server has"
        client.run(f"rm -rf {mount.path}/*", LEFT_SECONDS)
        before, after = self.record.throughput
        assert is_kept(before, after), f"{after} after the last fault, {before} before the first"

    def _orphans_end(self) -> None:
        """The server ends the connections whose other ends are gone: a client that had no address or no link when it
        ended one could not say so. The in-tree server does so only after minutes."""
        if self.record.cell.ours == "client":
            return

        def orphans() -> int:
            return max(connections(self.pair.server) - connections(self.pair.client), 0)

        self.record.orphans = orphans()
        deadline = self._deadline(NOTICED_SECONDS)
        while (left := orphans()) > 0:
            assert time.monotonic() < deadline, f"{left} connections of the server have no other end"

    def _nothing_is_left(self, idle: Idle) -> None:
        """Objects of the module and of the device and memory are as they were; the modules can be unloaded."""
        self.pair.server.run(f"echo {THREADS} >/proc/fs/nfsd/threads")
        for guest in self.pair.ours:
            wait_for_resources(guest, idle.resources[guest.name],  # type: ignore[arg-type]
                               LEFT_SECONDS * guest.slowness)
        deadline = self._deadline(LEFT_SECONDS)
        while (now := Idle.of(self.pair)).objects != idle.objects:
            assert time.monotonic() < deadline, f"objects: {now.objects}, at the begin {idle.objects}"
        for name, memory in idle.memory.items():
            # Detectors keep memory of their own.
            assert self.record.cell.flavour != STOCK or now.memory[name] > memory - KEPT_MEMORY, (
                f"{now.memory[name]} MiB are available in the {name}, {memory} at the begin")
        self._look_at_memory()
        self.pair.unload_client_transport()
        self.pair.unload_server_transport()
        if self.record.cell.flavour == WITH_KMEMLEAK:
            found = [line for guest in self.pair.guests for line in (*leaks(guest), *dma_errors(guest))]
            assert not found, "\n".join(found)
        self._is_quiet("the end")
        self.pair.load_client_transport()
        self.pair.load_server_transport()
        # Nobody has anything to reclaim; it is an error where there is no grace period.
        self.pair.server.run("echo Y >/proc/fs/nfsd/v4_end_grace", check=False)


@contextmanager
def prepared(pair: Pair) -> Iterator[None]:
    """What the faults and the recorder need, in both guests."""
    def prepare(guest: Guest) -> str:
        return f"{preparation(guest)} && {recorder.begin()}"

    for guest in pair.guests:
        guest.run(prepare(guest))
    before, pair.preparation = pair.preparation, prepare
    try:
        yield
    finally:
        pair.preparation = before
    for guest in pair.guests:
        recorder.end(guest)
        clean_up(guest)


@contextmanager
def long_enough_lease(pair: Pair, nfs: str) -> Iterator[None]:
    """In this block no fault lasts longer than a lease of NFS 4.0, nor does the client come too late to reclaim.

    nfsd remembers a CLOSE for so long. It answers one that is sent again after that with NFS4ERR_BAD_STATEID, and
    Linux's client ends the user's next OPEN with EIO, whatever carries the Calls.
    """
    if nfs != "4.0":
        yield
        return
    with usual_lease(pair, GRACE_SECONDS):
        yield


@contextmanager
def highest_protocol(client: Guest, cell: Cell) -> Iterator[None]:
    """Connections that the client makes in this block speak no higher version of RPC-over-RDMA."""
    if cell.ours == "server":
        yield
        return
    before = client.read(OFFERED).strip()
    client.run(f"echo {cell.protocol} >{OFFERED}")
    yield
    client.run(f"echo {before} >{OFFERED}")


def is_kept(before: dict[str, float], after: dict[str, float]) -> bool:
    """Whether the faults have left enough of a throughput."""
    return after["calls"] > before["calls"] * KEPT_THROUGHPUT


def may_replay(fault: Happened, at: float) -> bool:
    """Whether an operation that ended then may have been carried out before, because of this fault."""
    forgets = fault.kind in FORGETS or (fault.kind == FORGETS_AT_THE_SERVER and fault.what.endswith("server"))
    return forgets and fault.at <= at <= fault.at + fault.seconds + fault.recovery


def uptime(guest: Guest) -> float:
    """Seconds since its boot."""
    return float(guest.read("/proc/uptime").split()[0])


def available(guest: Guest, before: str = "") -> int:
    """Its memory that is available, in MiB, after a command."""
    return int(guest.output(f"{before}awk '/^MemAvailable/ {{ print $2 }}' /proc/meminfo")) >> 10


def blocked_tasks(pair: Pair) -> str:
    """What waits in the guests that are left, as their kernels say it; it is in the kernel logs then."""
    shown = []
    for guest in pair.guests:
        if not guest.alive:
            continue
        try:
            begin = len(guest.kernel_log)
            guest.run("echo w >/proc/sysrq-trigger")
            guest.mark("blocked tasks above")
            shown.append(f"{guest.name}:\n{guest.output('rdma resource show qp')}"
                         + last_lines("\n".join(map(str, guest.kernel_log[begin:]))))
        except (LabError, GuestDied) as error:
            shown.append(f"{guest.name}: {error}")
    return "\n".join(shown)


def new_record(seed: int, cell: Cell, commit: str) -> Record:
    """The record of a run that begins now."""
    return Record(seed, cell, commit, time.strftime("%Y-%m-%d %H:%M:%S"))
