# SPDX-License-Identifier: GPL-2.0-only
"""The dissector of version 2, and the list of messages from a capture. Needs tshark, and no guest."""

import random
from pathlib import Path

import pytest
from capture import (CALL, RDMA2_OPTIONAL, RDMA_ERROR, RDMA_MSG, RDMA_NOMSG, REPLY, Message, Segment,
                     malformed_frames, messages_in, tshark)

from frames import (CLIENT, RDMA_WRITE_ONLY, RETH, SEND_FIRST, SEND_LAST, SEND_LAST_WITH_INVALIDATE,
                    SEND_MIDDLE, SEND_ONLY_WITH_INVALIDATE, SERVER, Packet, chunk_lists, fixed,
                    nfs_null_call, optional, rpc_reply, words, write_capture)

XID = 0x1234abcd
CREDITS = 33
ERR_VERS, ERR_BAD_HEADER, ERR_INVAL_OPTION = 1, 2, 3
HANDLE = 0xc0ffee01
# All bytes differ from each other, so that one that is read in another's place is seen.
ONE = Segment(0x01020304, 0x05060708, 0x090a0b0c0d0e0f10)
TWO = Segment(0xf1f2f3f4, 0xf5f6f7f8, 0xf9fafbfcfdfeff00)
UNUSED = Segment(0x61626364, 0, 0x696a6b6c6d6e6f70)


def v2(kind: int, body: bytes, xid: int = XID) -> bytes:
    return fixed(xid, 2, CREDITS, kind) + body


def msg(direction: int, *lists, payload: bytes | None = None) -> bytes:
    if payload is None:
        payload = nfs_null_call(XID) if direction == CALL else rpc_reply(XID)
    return v2(RDMA_MSG, words(direction) + chunk_lists(*lists) + payload)


def nomsg(direction: int, *lists) -> bytes:
    return v2(RDMA_NOMSG, words(direction) + chunk_lists(*lists))


def error(*body: int) -> bytes:
    return v2(RDMA_ERROR, words(*body))


def in_v1(kind: int, body: bytes) -> bytes:
    return fixed(XID, 1, CREDITS, kind) + body


# Lists as they are encoded and, at the same time, as a Message has them.
NO_LISTS = (), (), None
READS = ((4, ONE), (8, TWO), (8, ONE)), (), None
POSITION_ZERO = ((0, TWO),), (), None
WRITES = (), ((ONE, TWO), (), (TWO,)), None
REPLY_CHUNK = (), (), (ONE, TWO)
EVERYTHING = ((0, TWO), (12, ONE)), ((TWO,), (ONE, UNUSED)), (TWO, ONE)
EMPTY_REPLY_CHUNK = (), (), ()

# By name: the message, who sends it, its type, its lists and its direction.
MESSAGES = {
    "call": (msg(CALL, *NO_LISTS), CLIENT, RDMA_MSG, NO_LISTS, CALL),
    "reply": (msg(REPLY, *NO_LISTS), SERVER, RDMA_MSG, NO_LISTS, REPLY),
    "reverse call": (msg(CALL, *NO_LISTS), SERVER, RDMA_MSG, NO_LISTS, CALL),
    "read chunks": (msg(CALL, *READS), CLIENT, RDMA_MSG, READS, CALL),
    "write chunks": (msg(CALL, *WRITES), CLIENT, RDMA_MSG, WRITES, CALL),
    "write chunks, filled": (msg(REPLY, *WRITES), SERVER, RDMA_MSG, WRITES, REPLY),
    "reply chunk": (msg(CALL, *REPLY_CHUNK), CLIENT, RDMA_MSG, REPLY_CHUNK, CALL),
    "reply chunk without segments": (msg(CALL, *EMPTY_REPLY_CHUNK), CLIENT, RDMA_MSG,
                                     EMPTY_REPLY_CHUNK, CALL),
    "everything": (msg(CALL, *EVERYTHING), CLIENT, RDMA_MSG, EVERYTHING, CALL),
    "long call": (nomsg(CALL, *POSITION_ZERO), CLIENT, RDMA_NOMSG, POSITION_ZERO, CALL),
    "long reply": (nomsg(REPLY, *REPLY_CHUNK), SERVER, RDMA_NOMSG, REPLY_CHUNK, REPLY),
    "ERR_VERS": (error(ERR_VERS, 3, 9), SERVER, RDMA_ERROR, NO_LISTS, REPLY),
    "ERR_BAD_HEADER": (error(ERR_BAD_HEADER), SERVER, RDMA_ERROR, NO_LISTS, REPLY),
    "ERR_INVAL_OPTION": (error(ERR_INVAL_OPTION), SERVER, RDMA_ERROR, NO_LISTS, REPLY),
    "option": (v2(RDMA2_OPTIONAL, optional(CALL, 7, b"Hello")), CLIENT, RDMA2_OPTIONAL, NO_LISTS, CALL),
    "option with nothing": (v2(RDMA2_OPTIONAL, optional(REPLY, 0x80000001, b"")), SERVER,
                            RDMA2_OPTIONAL, NO_LISTS, REPLY),
    "option with a payload": (v2(RDMA2_OPTIONAL, optional(CALL, 8, b"1234") + nfs_null_call(XID)), CLIENT,
                              RDMA2_OPTIONAL, NO_LISTS, CALL),
}


def expected(name: str, **different: int) -> Message:
    encoded, sender, kind, lists, direction = MESSAGES[name]
    return Message(sender, XID, CREDITS, kind, *lists, len(encoded),
                   **{"version": 2, "direction": direction, **different})


def rows(capture: Path, shown: str, *fields: str) -> list[tuple[list[str], ...]]:
    """The values of fields, of each frame that is shown."""
    lines = tshark(capture, "-Y", shown, "-T", "fields", "-E", "separator=;", "-E", "aggregator=|",
                   *(word for field in fields for word in ("-e", field))).splitlines()
    return [tuple([value for value in column.split("|") if value] for column in line.split(";"))
            for line in lines]


# What is well

def test_each_kind_of_message_is_listed(tmp_path: Path) -> None:
    """In order, and none of them has anything wrong with it."""
    capture = write_capture(tmp_path / "capture", (
        Packet(encoded, sender) for encoded, sender, *_ in MESSAGES.values()))
    assert messages_in(capture) == [expected(name) for name in MESSAGES]
    assert malformed_frames(capture) == []
    assert rows(capture, "rpcordma_v2.violation", "frame.number") == []


FIELDS = [
    ("ERR_VERS", {"error": ["1"], "vers_low": ["3"], "vers_high": ["9"]}),
    ("ERR_BAD_HEADER", {"error": ["2"], "vers_low": [], "vers_high": []}),
    ("ERR_INVAL_OPTION", {"error": ["3"]}),
    ("option", {"opttype": ["7"], "optinfo_length": ["5"], "optinfo": [b"Hello".hex()], "payload": []}),
    ("option with nothing", {"opttype": ["2147483649"], "optinfo_length": ["0"], "optinfo": []}),
    ("option with a payload", {"optinfo": [b"1234".hex()], "payload": [nfs_null_call(XID).hex()]}),
    ("reply", {"payload": [rpc_reply(XID).hex()], "payload_length": ["24"]}),
    ("write chunks", {"segment_count": ["2", "0", "1"], "writes_count": ["3"], "reply_count": ["0"]}),
]


def test_fields_that_no_list_of_messages_has(tmp_path: Path) -> None:
    """Those of errors and options, and the payload."""
    capture = write_capture(tmp_path / "capture", (Packet(MESSAGES[name][0]) for name, _ in FIELDS))
    names = sorted({field for _, fields in FIELDS for field in fields})
    found = rows(capture, "rpcordma_v2", *(f"rpcordma_v2.{name}" for name in names))
    for (message, fields), values in zip(FIELDS, found, strict=True):
        shown = dict(zip(names, values, strict=True))
        assert {field: shown[field] for field in fields} == fields, message


def test_an_rpc_message_is_shown_where_it_is_whole(tmp_path: Path) -> None:
    """What is reduced to what chunks leave of it is not taken for whole."""
    names = ["call", "reply", "read chunks", "write chunks", "write chunks, filled", "option with a payload"]
    capture = write_capture(tmp_path / "capture", (Packet(*MESSAGES[name][:2]) for name in names))
    whole = [names[int(number) - 1] for (number,), in rows(capture, "rpc", "frame.number")]
    assert whole == ["call", "reply", "write chunks"]


def test_a_reply_is_found_to_be_its_calls(tmp_path: Path) -> None:
    """So that the RPC dissector knows of which program it is."""
    capture = write_capture(tmp_path / "capture", (Packet(*MESSAGES[name][:2]) for name in ("call", "reply")))
    assert rows(capture, "rpc", "rpc.reqframe", "rpc.repframe", "rpc.program", "_ws.col.Protocol") == [
        (["2"], [], ["100003"], ["NFS"]), ([], ["1"], ["100003"], ["NFS"])]


def test_unused_write_chunks_leave_a_reply_whole(tmp_path: Path) -> None:
    """The lengths say so."""
    capture = write_capture(tmp_path / "capture", [
        Packet(msg(CALL, (), ((ONE,),), None)), Packet(msg(REPLY, (), ((UNUSED,),), None), SERVER)])
    assert len(rows(capture, "rpc", "frame.number")) == 2


def test_invalidation_and_padding_do_not_count(tmp_path: Path) -> None:
    """Neither belongs to the message."""
    odd = v2(RDMA2_OPTIONAL, optional(CALL, 8, b"1234") + b"odd")
    capture = write_capture(tmp_path / "capture", [
        Packet(MESSAGES["reply"][0], SERVER, SEND_ONLY_WITH_INVALIDATE, extended=words(HANDLE)),
        Packet(odd)])
    first, second = messages_in(capture)
    assert first == expected("reply", invalidates=HANDLE)
    assert second.size == len(odd)
    assert rows(capture, "frame.number == 2", "rpcordma_v2.payload") == [([b"odd".hex()],)]


# Several packets

LONG = msg(REPLY, *WRITES[:2], None, payload=rpc_reply(XID, bytes(range(256)) * 11))
MTU = 1024


def in_packets(message: bytes, psn: int, last: int = SEND_LAST, extended: bytes = b"") -> list[Packet]:
    """A Send of three packets."""
    first, middle, end = (message[at:at + MTU] for at in range(0, len(message), MTU))
    return [Packet(first, SERVER, SEND_FIRST, psn), Packet(middle, SERVER, SEND_MIDDLE, (psn + 1) % 2**24),
            Packet(end, SERVER, last, (psn + 2) % 2**24, extended)]


def long_message(**different: int) -> Message:
    return Message(SERVER, XID, CREDITS, RDMA_MSG, *WRITES, len(LONG),
                   **{"version": 2, "direction": REPLY, **different})


def test_a_send_of_several_packets_is_put_together(tmp_path: Path) -> None:
    """Also where sequence numbers begin anew, and where others' packets come in between."""
    other = Packet(MESSAGES["call"][0])
    first, *more = in_packets(LONG, 0xfffffe)
    invalidating = in_packets(LONG, 7, SEND_LAST_WITH_INVALIDATE, words(HANDLE))
    capture = write_capture(tmp_path / "capture", [first, other, *more, *invalidating])
    assert messages_in(capture) == [expected("call"), long_message(), long_message(invalidates=HANDLE)]
    assert malformed_frames(capture) == []
    assert rows(capture, "rpcordma_v2.packets", "rpcordma_v2.packets", "rpcordma_v2.payload_length") == [
        (["3"], [str(24 + 256 * 11)])] * 2


def test_packets_that_are_sent_again_count_once(tmp_path: Path) -> None:
    """One alone, or everything from the first packet on."""
    first, middle, last = in_packets(LONG, 7)
    capture = write_capture(tmp_path / "capture", [first, middle, middle, first, middle, last, last])
    assert messages_in(capture) == [long_message()]
    assert malformed_frames(capture) == []
    assert len(rows(capture, "rpcordma_v2.fragment", "frame.number")) == 6


def test_a_send_with_a_packet_missing_is_no_message(tmp_path: Path) -> None:
    """And harms none that comes after it."""
    first, middle, last = in_packets(LONG, 7)
    capture = write_capture(tmp_path / "capture", [
        first, last, *in_packets(LONG, 20)[1:], *in_packets(LONG, 30), first, last, middle, last])
    # After the last packet of all, one that was missing came late, and everything behind it once more.
    assert messages_in(capture) == [long_message(), long_message()]
    assert malformed_frames(capture) == []


def test_a_large_call_with_its_rpc(tmp_path: Path) -> None:
    """It goes to the RPC dissector from where it has been put together."""
    message = msg(CALL, payload=nfs_null_call(XID, bytes(2500)))
    capture = write_capture(tmp_path / "capture", in_packets(message, 7))
    assert rows(capture, "rpc", "frame.number", "rpc.program") == [(["3"], ["100003"])]


# What is another's

def test_version_1_stays_with_its_own_dissector(tmp_path: Path) -> None:
    """Also in the same capture: where a version is negotiated."""
    v1_call = in_v1(RDMA_MSG, chunk_lists(*EVERYTHING) + nfs_null_call(XID))
    v1_error = in_v1(RDMA_ERROR, words(ERR_VERS, 1, 1))
    capture = write_capture(tmp_path / "capture", [
        Packet(MESSAGES["call"][0]), Packet(v1_error, SERVER), Packet(v1_call)])
    assert messages_in(capture) == [
        expected("call"),
        Message(SERVER, XID, CREDITS, RDMA_ERROR, *NO_LISTS, len(v1_error)),
        Message(CLIENT, XID, CREDITS, RDMA_MSG, *EVERYTHING, len(v1_call))]
    assert rows(capture, "rpcordma && rpcordma_v2", "frame.number") == []
    assert rows(capture, "rpcordma", "rpcordma.vers_high") == [(["1"],), ([],)]


def test_version_1_does_not_take_messages_of_version_2(tmp_path: Path) -> None:
    """Its dissector accepts some, and reads beyond the end of others, where it is asked first."""
    v1_call = in_v1(RDMA_MSG, chunk_lists() + nfs_null_call(XID))
    capture = write_capture(tmp_path / "capture", (
        packet for encoded, sender, *_ in MESSAGES.values()
        for packet in (Packet(v1_call), Packet(encoded, sender))))
    found = messages_in(capture)
    assert found[1::2] == [expected(name) for name in MESSAGES]
    assert {message.version for message in found[::2]} == {1}
    assert malformed_frames(capture) == []


OTHERS = {
    "an RDMA Write": Packet(MESSAGES["call"][0], opcode=RDMA_WRITE_ONLY, extended=RETH),
    "version 3": Packet(fixed(XID, 3, CREDITS, RDMA_MSG) + chunk_lists()),
    "header type 2": Packet(v2(2, words(CALL) + chunk_lists())),
    "header type 3": Packet(v2(3, words(CALL) + chunk_lists())),
    "header type 6": Packet(v2(6, words(CALL) + chunk_lists())),
    "less than the fixed fields": Packet(v2(RDMA_MSG, b"")[:15]),
    "no direction and no list": Packet(v2(RDMA_MSG, b"text that is no header")),
    "no direction and no option": Packet(v2(RDMA2_OPTIONAL, b"text that is no header")),
    "too long for an error": Packet(v2(RDMA_ERROR, bytes(1000))),
    "a packet in the middle": Packet(LONG[:MTU], SERVER, SEND_MIDDLE),
    "a last packet": Packet(LONG[:MTU], SERVER, SEND_LAST),
}


def test_what_is_not_version_2_is_left_alone(tmp_path: Path) -> None:
    """Others' protocols look for themselves in the same packets."""
    capture = write_capture(tmp_path / "capture", OTHERS.values())
    found = rows(capture, "rpcordma_v2", "frame.number")
    assert [list(OTHERS)[int(number) - 1] for (number,), in found] == []


# What is wrong

MALFORMED, VIOLATION = "malformed", "violation"
LISTS = MESSAGES["everything"][0]
READ_AT, WRITE_AT, REPLY_AT = 20, 20 + 2 * 24 + 4, 20 + 2 * 24 + 4 + 2 * 8 + 3 * 16 + 4


def put(message: bytes, at: int, *values: int) -> bytes:
    return message[:at] + words(*values) + message[at + 4 * len(values):]


# By name: the message, how bad it is, and what is said of it.
WRONG = {
    "direction": (put(LISTS, 16, 2), MALFORMED, "2 is no direction"),
    "direction of an option": (put(MESSAGES["option"][0], 16, 0xffffffff), MALFORMED, "4294967295 is no direction"),
    "Read list": (put(LISTS, READ_AT, 2), MALFORMED, "the Read list: neither there"),
    "Read list after a segment": (put(LISTS, READ_AT + 24, 256), MALFORMED, "the Read list: neither there"),
    "Write list": (put(LISTS, WRITE_AT, 2), MALFORMED, "the Write list: neither there"),
    "Reply chunk": (put(LISTS, REPLY_AT, 2), MALFORMED, "the Reply chunk: neither there"),
    "no direction": (LISTS[:16], MALFORMED, "4 bytes before the end of the direction"),
    "no Read list": (LISTS[:READ_AT], MALFORMED, "4 bytes before the end of the Read list"),
    "no segment": (LISTS[:READ_AT + 23], MALFORMED, "1 bytes before the end of a Read segment"),
    "no Write list": (LISTS[:WRITE_AT], MALFORMED, "4 bytes before the end of the Write list"),
    "no count": (LISTS[:WRITE_AT + 4], MALFORMED, "4 bytes before the end of a chunk"),
    "no Reply chunk": (LISTS[:REPLY_AT], MALFORMED, "4 bytes before the end of the Reply chunk"),
    "segments without number": (put(LISTS, WRITE_AT + 4, 0xffffffff), MALFORMED, "4294967295 segments do not fit into"),
    "a segment too many": (put(nomsg(CALL, *REPLY_CHUNK), 32, 3), MALFORMED, "3 segments do not fit into 32 bytes"),
    "a Read list without an end": (msg(CALL)[:20] + words(*[1, 0, 0, 0, 0, 0] * 100), MALFORMED,
                                   "end of the Read list"),
    "a Write list without an end": (msg(CALL)[:24] + words(*[1, 0] * 500), MALFORMED, "end of the Write list"),
    "error 0": (error(0), MALFORMED, "0 is no error"),
    "error 4": (error(4), MALFORMED, "4 is no error"),
    "no error": (error(), MALFORMED, "4 bytes before the end of the error"),
    "half a range": (error(ERR_VERS, 1), MALFORMED, "before the end of the highest version"),
    "information too long": (put(MESSAGES["option"][0], 24, 9), MALFORMED, "9 bytes do not fit into 8 bytes"),
    "information without end": (put(MESSAGES["option"][0], 24, 0xffffffff), MALFORMED, "do not fit into 8 bytes"),
    "inverted range": (error(ERR_VERS, 2, 1), VIOLATION, "lower than the lowest"),
    "no credits": (put(msg(CALL), 8, 0), VIOLATION, "no credit"),
    "no payload": (msg(CALL, payload=b""), VIOLATION, "No payload"),
    "a payload too short": (msg(CALL, payload=words(XID)), VIOLATION, "no RPC message"),
    "XID": (msg(CALL, payload=nfs_null_call(5)), VIOLATION, "another XID: 0x00000005"),
    "other direction": (msg(CALL, payload=rpc_reply(XID)), VIOLATION, "another direction: REPLY"),
    "no msg_type": (msg(REPLY, payload=words(XID, 77)), VIOLATION, "another direction: 77"),
    "NOMSG with a payload": (nomsg(CALL, *POSITION_ZERO) + nfs_null_call(XID), VIOLATION, "RDMA2_NOMSG has no payload"),
    "ERROR with a payload": (error(ERR_BAD_HEADER, 0), VIOLATION, "RDMA2_ERROR has no payload"),
}


@pytest.fixture(scope="module", name="found_wrong")
def _found_wrong(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[str], ...]]:
    """What the dissector shows of each of these, in one capture."""
    capture = write_capture(tmp_path_factory.mktemp("wrong") / "capture",
                            (Packet(message) for message, *_ in WRONG.values()))
    # That every frame is there shows that none has been left alone.
    found = rows(capture, "rpcordma_v2", "rpcordma_v2.xid", "rpcordma_v2.malformed", "rpcordma_v2.violation",
                 "_ws.expert.message", "_ws.lua.error", "rpc.xid")
    assert (len(malformed_frames(capture))
            == len([kind for _, kind, _ in WRONG.values() if kind == MALFORMED]))
    return dict(zip(WRONG, found, strict=True))


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(found_wrong: dict[str, tuple[list[str], ...]], name: str) -> None:
    """Once, and no RPC message is made of it."""
    _, kind, said = WRONG[name]
    xids, malformed, violations, messages, lua_errors, rpc_xids = found_wrong[name]
    assert xids == [hex(XID)] and lua_errors == []
    assert (len(malformed), len(violations)) == ((1, 0) if kind == MALFORMED else (0, 1))
    assert len(messages) == 1 and said in messages[0]
    assert bool(rpc_xids) == (name == "no credits")


def test_no_bytes_whatsoever_are_a_mistake_of_the_dissector(tmp_path: Path) -> None:
    """Messages of every length, and messages with some bytes that are others'."""
    dice = random.Random(18)
    packets = [Packet(encoded[:length], sender) for encoded, sender, *_ in MESSAGES.values()
               for length in range(1, len(encoded))]
    for encoded, sender, *_ in MESSAGES.values():
        for _ in range(100):
            mutated = bytearray(encoded)
            for _ in range(dice.randint(1, 3)):
                mutated[dice.randrange(8, len(mutated))] = dice.choice((0, 1, 2, 255, dice.randrange(256)))
            packets.append(Packet(bytes(mutated), sender))
            packets.append(Packet(bytes(mutated), sender, dice.choice((SEND_FIRST, SEND_MIDDLE, SEND_LAST)), 7))
    capture = write_capture(tmp_path / "capture", packets)
    assert rows(capture, "_ws.lua.error", "frame.number", "_ws.lua.error") == []
    details = tshark(capture, "-V")
    assert "Lua Error" not in details and "DISSECTOR BUG" not in details
    assert details.count("\nRPC over RDMA, version 2\n") > len(packets) // 2
