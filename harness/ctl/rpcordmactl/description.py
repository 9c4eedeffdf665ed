# SPDX-License-Identifier: GPL-2.0-only
"""What uapi/rpcordma.yaml says. Made by scripts/netlink."""

# The words for the values of a type, from 0 on.
WORDS = {
    "role": [
        "requester",
        "responder"
    ],
    "state": [
        "disconnected",
        "connecting",
        "connected",
        "ending"
    ],
    "happening": [
        "connected",
        "disconnected",
        "connect-failed",
        "refused",
        "listener-lost",
        "listener-back"
    ]
}
# The type of each attribute. They are numbered in this order, from 1 on.
ATTRIBUTES = {
    "module": {
        "pad": "pad",
        "version": "string",
        "kernel": "string",
        "slot-table-entries": "u32",
        "max-inline-read": "u32",
        "max-inline-write": "u32",
        "highest-version": "u32",
        "svc-max-requests": "u32",
        "svc-max-req-size": "u32",
        "svc-max-reads": "u32",
        "svc-reverse-chunks": "u32",
        "svc-highest-version": "u32",
        "svc-reserved-ports": "u32",
        "svc-reads": "u64",
        "svc-receives": "u64",
        "svc-writes": "u64",
        "svc-send-waits": "u64",
        "svc-max-connects": "u32",
        "svc-connects": "u64",
        "svc-disconnects": "u64",
        "svc-refused": "u64",
        "svc-errors-sent": "u64"
    },
    "listener": {
        "pad": "pad",
        "id": "u64",
        "address": "binary",
        "is-listening": "u32"
    },
    "connection": {
        "pad": "pad",
        "id": "u64",
        "role": "role",
        "state": "state",
        "remote": "binary",
        "xprt-id": "u32",
        "local": "binary",
        "device": "string",
        "port": "u32",
        "queue-pair": "u32",
        "age": "u64",
        "version": "u32",
        "credits-in-use": "u32",
        "credits-granted": "u32",
        "credits-asked": "u32",
        "reverse-credits": "u32",
        "call-threshold": "u32",
        "reply-threshold": "u32",
        "remote-invalidation": "u32",
        "receives": "u64",
        "sends": "u64",
        "connects": "u64",
        "bad-xids": "u64",
        "read-chunks": "u64",
        "write-chunks": "u64",
        "reply-chunks": "u64",
        "request-bytes": "u64",
        "reply-bytes": "u64",
        "bytes-copied-out": "u64",
        "bytes-copied-in": "u64",
        "failed-marshals": "u64",
        "bad-replies": "u64",
        "nomsg-calls": "u64",
        "registrations": "u64",
        "registrations-lost": "u64",
        "local-invalidations": "u64",
        "waits-for-room": "u64",
        "latency": "binary",
        "latency-sum": "u64",
        "inline-sent": "u64",
        "inline-received": "u64",
        "read-chunk-bytes": "u64",
        "write-chunk-bytes": "u64",
        "reply-chunk-bytes": "u64",
        "remote-invalidations": "u64",
        "retransmissions": "u64",
        "reverse-calls": "u64",
        "reverse-replies": "u64",
        "reverse-credits-in-use": "u32",
        "receive-memory": "u64",
        "send-memory": "u64",
        "registration-memory": "u64",
        "private-data": "u32",
        "peer-send-size": "u32",
        "peer-receive-size": "u32",
        "peer-remote-invalidation": "u32",
        "waits": "nest",
        "refused": "nest",
        "errors-sent": "nest",
        "errors-received": "nest"
    },
    "disconnect": {
        "pad": "pad",
        "id": "u64",
        "connection": "u64",
        "role": "role",
        "remote": "binary",
        "time": "u64",
        "age": "u64",
        "reason": "string",
        "detail": "string"
    },
    "event": {
        "pad": "pad",
        "happening": "happening",
        "connection": "u64",
        "role": "role",
        "remote": "binary",
        "reason": "string",
        "detail": "string"
    },
    "tally": {
        "pad": "pad",
        "name": "string",
        "count": "u64"
    }
}
COMMANDS = {
    "module-get": 1,
    "listener-get": 2,
    "connection-get": 3,
    "disconnect-get": 4,
    "event": 5
}
