# SPDX-License-Identifier: GPL-2.0-only
"""Metrics of the module, its listeners and its connections, for Prometheus and its like."""

import importlib
from typing import Any, Iterator

from .errors import Failure
from .records import Record, limits

# What each number of a connection counts, or is at the moment. The keys are names of the netlink family.
COUNTERS = {
    "receives": "Replies that a requester has received, or messages that a responder has, some of which are no Call",
    "sends": "Calls that a requester, Replies and errors that a responder has sent",
    "connects": "Connections that a requester has made",
    "bad_xids": "Replies that no Call waited for",
    "read_chunks": "Segments of Read chunks",
    "write_chunks": "Segments of Write chunks",
    "reply_chunks": "Segments of Reply chunks",
    "request_bytes": "Bytes that Replies might have had in chunks",
    "reply_bytes": "Bytes that Replies had in chunks",
    "bytes_copied_out": "Bytes that were copied for sending",
    "bytes_copied_in": "Bytes that were copied after receiving",
    "failed_marshals": "Calls that could not be sent",
    "bad_replies": "Messages that were dropped",
    "nomsg_calls": "Calls that were sent in a Read chunk as a whole",
    "registrations": "Registrations that were made",
    "registrations_lost": "Registrations that the server could still reach when the connection was closed",
    "local_invalidations": "Invalidations that the responder had not done",
    "waits_for_room": "Times that a Call waited for room",
    "inline_sent": "Bytes of RPC messages that were sent without chunks",
    "inline_received": "Bytes of RPC messages that were received without chunks",
    "read_chunk_bytes": "Bytes in Read chunks",
    "write_chunk_bytes": "Bytes that a responder has written to Write chunks",
    "reply_chunk_bytes": "Bytes that a responder has written to Reply chunks",
    "remote_invalidations": "Registrations that a responder has invalidated, or asked the requester's device to",
    "retransmissions": "Calls that were sent once more",
    "reverse_calls": "Calls in the reverse direction",
    "reverse_replies": "Answers to Calls in the reverse direction",
}
# The same by name.
TALLIES = {
    "waits": "Times that what was to be sent had to wait",
    "refused": "Messages of the peer's that were dropped or answered with an error",
    "errors_sent": "RDMA_ERRORs that were sent",
    "errors_received": "RDMA_ERRORs that were received",
}
# What each of these is for all reasons together. A reason has no series before its first count, so that neither rate()
# nor increase() shows that one; these are there from 0 on.
SUMS = {
    "waits": ("waits_for_anything", "Times that what was to be sent had to wait, in all"),
    "refused": ("refused_messages", "Messages of the peer's that were dropped or answered with an error, in all"),
    "errors_sent": ("error_messages_sent", "RDMA_ERRORs that were sent, in all"),
    "errors_received": ("error_messages_received", "RDMA_ERRORs that were received, in all"),
}
GAUGES = {
    "credits_in_use": "Calls without a Reply",
    "credits_granted": "Calls that the responder lets the requester have outstanding",
    "credits_asked": "Calls that the requester would have outstanding",
    "reverse_credits": "Calls that the responder may have outstanding in the reverse direction",
    "call_threshold": "Bytes of the largest message from requester to responder without chunks",
    "reply_threshold": "Bytes of the largest message from responder to requester without chunks",
    "age": "Seconds since the connection was established",
    "reverse_credits_in_use": "Calls in the reverse direction without an answer",
    "receive_memory": "Bytes of the buffers that messages are received in",
    "send_memory": "Bytes of the buffers that messages are sent from",
    "registration_memory": "Bytes of the lists of pages of registrations",
}
SERVER = {
    "svc_reads": "Segments of clients' memory that the server has read",
    "svc_receives": "Messages that the server has received",
    "svc_writes": "Segments of clients' memory that the server has written",
    "svc_send_waits": "Times that the server waited for room",
    "svc_connects": "Connections of the server that were established",
    "svc_disconnects": "Connections of the server that have ended",
    "svc_refused": "Messages that the server has refused or dropped, on all connections that it has had",
    "svc_errors_sent": "RDMA_ERRORs that the server has sent, on all connections that it has had",
}
# A requester has a device only while it is connected: as a label it would begin another series at each disconnect.
LABELS = ("connection", "role", "remote", "port")


def labels_of(connection: Record) -> list[str]:
    """The values of LABELS."""
    remote = connection.get("remote")
    where = [remote.address, str(remote.port)] if remote else ["", ""]
    return [str(connection["id"]), connection["role"], *where]


class Collector:
    """What prometheus_client asks for the metrics."""

    def __init__(self, module: Record, listeners: list[Record], connections: list[Record]) -> None:
        self.module = module
        self.listeners = listeners
        self.connections = connections

    def collect(self) -> Iterator[Any]:
        """Each family of metrics."""
        prometheus = library("core")
        info = prometheus.InfoMetricFamily("rpcordma_module", "The module")
        info.add_metric([], {"version": self.module["version"], "kernel": self.module["kernel"]})
        yield info
        for name in (name for name in SERVER if name in self.module):
            yield prometheus.CounterMetricFamily(f"rpcordma_{name}", SERVER[name], value=self.module[name])
        listening = prometheus.GaugeMetricFamily("rpcordma_listening", "Whether a listener can be connected to",
                                                 labels=("address", "port"))
        for listener in self.listeners:
            address = listener["address"]
            listening.add_metric([address.address, str(address.port)], listener["is_listening"])
        yield listening
        yield self.info(prometheus.InfoMetricFamily)
        connected = prometheus.GaugeMetricFamily("rpcordma_connected", "Whether there is a connection", labels=LABELS)
        for connection in self.connections:
            connected.add_metric(labels_of(connection), int(connection["state"] == "connected"))
        yield connected
        yield from self.numbers(prometheus.CounterMetricFamily, COUNTERS)
        yield from self.numbers(prometheus.GaugeMetricFamily, GAUGES)
        yield from self.tallies(prometheus.CounterMetricFamily)
        yield from self.sums(prometheus.CounterMetricFamily)
        yield self.latency(prometheus.HistogramMetricFamily)

    def info(self, family: Any) -> Any:
        """What a connection has that changes: a query joins it to the other metrics."""
        metric = family("rpcordma_connection", "The connection, and its device while it is connected", labels=LABELS)
        for connection in self.connections:
            metric.add_metric(labels_of(connection), {"device": connection.get("device", "")})
        return metric

    def numbers(self, family: Any, texts: dict[str, str]) -> Iterator[Any]:
        """A metric for each number of the connections, of those that have it."""
        for name, text in texts.items():
            metric = family(f"rpcordma_{name}", text, labels=LABELS)
            for connection in self.connections:
                if name in connection:
                    metric.add_metric(labels_of(connection), connection[name])
            yield metric

    def tallies(self, family: Any) -> Iterator[Any]:
        """A metric for each tally, with a label for what is counted."""
        for name, text in TALLIES.items():
            metric = family(f"rpcordma_{name}", text, labels=(*LABELS, "reason"))
            for connection in self.connections:
                for reason, count in connection.get(name, {}).items():
                    metric.add_metric([*labels_of(connection), reason], count)
            yield metric

    def sums(self, family: Any) -> Iterator[Any]:
        """A metric for each tally as a whole."""
        for name, (sum_name, text) in SUMS.items():
            metric = family(f"rpcordma_{sum_name}", text, labels=LABELS)
            for connection in self.connections:
                metric.add_metric(labels_of(connection), sum(connection.get(name, {}).values()))
            yield metric

    def latency(self, family: Any) -> Any:
        """How long Calls have taken to be answered."""
        metric = family("rpcordma_latency_seconds",
                        "Seconds from the sending of a Call, or its arrival at a responder, to its Reply",
                        labels=LABELS)
        for connection in self.connections:
            if "latency" not in connection:
                continue
            counts = connection["latency"]
            reached = [sum(counts[:number + 1]) for number in range(len(counts))]
            ends = ["+Inf" if limit is None else str(limit / 1e9) for limit in limits(len(counts))]
            metric.add_metric(labels_of(connection), list(zip(ends, reached)), connection["latency_sum"] / 1e9)
        return metric


def library(part: str) -> Any:
    """A part of prometheus_client, which nothing else here needs."""
    try:
        return importlib.import_module(f"prometheus_client.{part}")
    except ImportError as error:
        raise Failure("metrics takes a library: apt install python3-prometheus-client") from error


def text(collector: Collector, prometheus_text: bool) -> str:
    """As OpenMetrics, or in the text format of Prometheus."""
    registry = library("registry").CollectorRegistry()
    registry.register(collector)
    written: bytes = library("exposition" if prometheus_text else "openmetrics.exposition").generate_latest(registry)
    return written.decode()
