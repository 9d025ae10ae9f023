"""The bytes that each device sends in a collective, with ring algorithms.

With k devices in a group and a local result of b bytes, a ring all-gather sends all but one of k shards of b / k bytes,
an all-reduce is a reduce-scatter followed by an all-gather, and an all-to-all keeps one of k parts.
Source: ring bounds.
"""

from __future__ import annotations

from sdy.model.collective import CollectiveKind


def bytes_sent(kind: CollectiveKind, group_size: int, result_bytes: float) -> float:
    """Return the bytes that each device of a group of `group_size` sends.

    `result_bytes` is the size of the result on one device.

    >>> bytes_sent(CollectiveKind.ALL_REDUCE, group_size=4, result_bytes=1024)
    1536.0
    >>> bytes_sent(CollectiveKind.REDUCE_SCATTER, group_size=4, result_bytes=256)
    768.0
    """
    others = group_size - 1
    match kind:
        case CollectiveKind.ALL_GATHER | CollectiveKind.ALL_TO_ALL:
            return others / group_size * result_bytes
        case CollectiveKind.ALL_REDUCE:
            return 2 * others / group_size * result_bytes
        case CollectiveKind.REDUCE_SCATTER:
            return float(others * result_bytes)
        case CollectiveKind.COLLECTIVE_PERMUTE:
            return float(result_bytes)
