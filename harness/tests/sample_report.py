# SPDX-License-Identifier: GPL-2.0-only
"""A report of the conformance tester that has one of everything, for tests of what is made of reports."""

LINK = "https://www.rfc-editor.org/rfc/rfc8166.html#section-3.4.5"


def message(connection: str, sent: bool, content: str, invalidates: int | None = None) -> dict:
    """A message of a case."""
    return {"seconds": 0.25, "connection": connection, "sent": sent, "bytes": content, "invalidates": invalidates}


def header(version: int, *behind: int) -> str:
    """An RDMA_MSG without chunks, in hexadecimal."""
    return "".join(f"{word:08x}" for word in (0x1234, version, 32, 0, *behind, 0, 0, 0))


def rpc(*behind: int) -> str:
    """A Call, or a Reply, of RPC."""
    return "".join(f"{word:08x}" for word in (0x1234, *behind))


CALL, REPLY = 0, 1
NULL_CALL = rpc(CALL, 2, 100003, 3, 0, 0, 0, 0, 0)
NULL_REPLY = rpc(REPLY, 0, 0, 0, 0)
# In version 1, in version 2 on another connection, and one that takes several packets.
MESSAGES = [message("main", True, header(1) + NULL_CALL), message("main", False, header(1) + NULL_REPLY),
            message("two", True, header(2, CALL) + NULL_CALL),
            message("two", False, header(2, REPLY) + NULL_REPLY, 0xc0ffee),
            message("two", True, header(2, CALL) + NULL_CALL + 70000 * "00")]


def result(name: str, outcome: str, level: str = "MUST") -> dict:
    """A case that has been run."""
    return {"name": name, "section": "RFC 8166, 3.4.5", "url": LINK, "level": level, "title": "a title",
            "requirements": ["8166-3.4.5-1"], "outcome": outcome, "expected": "this", "came": "that",
            "comparison": [{"what": "credits", "expected": "1", "came": "0", "differs": True}],
            "trace": ["-> MSG xid=0x1"], "messages": MESSAGES if outcome == "failed" else [], "messages_left_out": 0,
            "seconds": 0.5, "in_order": True, "command": "rpcordma-peer conform"}


def report() -> dict:
    """A report with one of everything."""
    results = [result("server/a", "passed"), result("server/b", "failed", "SHOULD"),
               result("server/c", "skipped", "hostile")]
    return {
        "format": "rpcordma-peer report", "format_version": 1, "role": "server", "device": "10.9.0.1:20049",
        "name": "mine", "started": "2026-11-21T04:00:00Z", "peer_version": "abc",
        "tester": {"kernel": "Linux 6.12", "device": "rxe0", "driver": "rdma_rxe", "firmware": None,
                   "transport": "InfiniBand"},
        "terms": {"announced": {"send_size": 4096, "receive_size": 4096, "remote_invalidation": False},
                  "call_threshold": 4096, "reply_threshold": 4096, "credits": 64},
        "settings": {"arguments": ["rpcordma-peer", "conform"], "strict": True, "protocol": 2, "repeat": 1,
                     "patience": 10, "seed": 7},
        "planned": 9, "interrupted": "SIGINT", "conforms": True,
        "levels": {"must": {"passed": 1, "failed": 0, "skipped": 0}, "should": {"passed": 0, "failed": 1, "skipped": 0},
                   "hostile": {"passed": 0, "failed": 0, "skipped": 1}},
        "passed": 1, "failed": 1, "skipped": 1, "results": results,
        "requirements": [{"identifier": "8166-3.4.5-1", "url": LINK, "level": "MUST",
                          "who": "responder", "seen": "wire", "what": "something", "same_as": None,
                          "cases": ["server/a", "server/b", "server/c"]}]}
