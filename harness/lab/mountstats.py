# SPDX-License-Identifier: GPL-2.0-only
"""/proc/self/mountstats, as far as transports go."""

from dataclasses import dataclass, field

# The columns of "xprt: rdma", in their order.
RDMA_COLUMNS = (
    "source_port", "bind_count", "connect_count", "connect_time", "idle_time", "sends", "receives",
    "bad_xids", "requests_queued", "backlog_queued",
    "read_chunks", "write_chunks", "reply_chunks", "total_request_bytes", "total_reply_bytes",
    "pullup_copies", "fixup_copies", "hardway_registrations", "failed_marshals", "bad_replies",
    "nomsg_calls", "mrs_recycled", "mrs_orphaned", "mrs_allocated", "local_invalidations",
    "empty_send_contexts", "reply_waits_for_send")


@dataclass(frozen=True)
class MountStats:
    """The counters of one mount."""

    transports: list[dict[str, int]]
    operations: dict[str, list[int]] = field(repr=False)

    @classmethod
    def parse(cls, text: str, path: str) -> "MountStats":
        """Takes the mount at a path out of the text of the file."""
        transports: list[dict[str, int]] = []
        operations: dict[str, list[int]] = {}
        inside = False
        for line in text.splitlines():
            words = line.split()
            if line.startswith("device "):
                inside = words[4] == path
            elif inside and line.startswith("\txprt:"):
                is_rdma = words[1] == "rdma"
                columns = RDMA_COLUMNS if is_rdma else ()
                if is_rdma and len(words) - 2 != len(columns):
                    raise ValueError(f"unexpected columns: {line.strip()}")
                transports.append(dict(zip(columns, map(int, words[2:]))))
            elif inside and words and words[0].endswith(":") and words[0][:-1].isupper():
                operations[words[0][:-1]] = [int(word) for word in words[1:]]
        return cls(transports, operations)

    def total(self, column: str) -> int:
        """The sum of a column over all connections of the mount."""
        return sum(transport[column] for transport in self.transports)

    def retransmissions(self) -> int:
        """How many more times requests were sent than there were requests."""
        return sum(numbers[1] - numbers[0] for numbers in self.operations.values())
