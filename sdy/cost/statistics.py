"""Statistics of a local program that can be compared: bytes sent, FLOPs and peak memory."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from sdy.cost.collectives import CollectiveKind
from sdy.cost.flops import flops_of
from sdy.cost.memory import peak_bytes
from sdy.cost.traffic import traffic_of


@dataclass(frozen=True, slots=True)
class CollectiveStatistics:
    """The collectives of one kind: the number of ops, the number of runs, and the bytes that each device sends in
    total.
    """

    places: int
    runs: int
    bytes_sent: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of one device: bytes sent by kind of collective, FLOPs of contractions, and peak memory."""

    collectives: dict[CollectiveKind, CollectiveStatistics]
    flops: int
    peak_bytes: int

    @property
    def bytes_sent(self) -> float:
        """The bytes sent by all collectives."""
        return sum(statistics.bytes_sent for statistics in self.collectives.values())

    def to_json(self) -> dict[str, object]:
        """Return the statistics as plain data, with bytes rounded to integers."""
        collectives = {
            kind.value: {"places": each.places, "runs": each.runs, "bytes_sent": round(each.bytes_sent)}
            for kind, each in self.collectives.items()
        }
        return {
            "bytes_sent": round(self.bytes_sent),
            "flops": self.flops,
            "peak_bytes": self.peak_bytes,
            "collectives": collectives,
        }


def statistics_of(local: ModuleOp) -> Statistics:
    """Return the statistics of a local program, as produced by `sdy-local-pipeline`."""
    collectives: dict[CollectiveKind, CollectiveStatistics] = {}
    for use in traffic_of(local):
        so_far = collectives.get(use.kind, CollectiveStatistics(0, 0, 0.0))
        collectives[use.kind] = CollectiveStatistics(
            so_far.places + 1, so_far.runs + use.times, so_far.bytes_sent + use.times * use.bytes_per_run
        )
    in_order = {kind: collectives[kind] for kind in CollectiveKind if kind in collectives}
    return Statistics(in_order, flops_of(local), peak_bytes(local))
