"""What a per-device program costs, in numbers that can be compared."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from sdy.cost.collectives import CollectiveKind
from sdy.cost.flops import flops_of
from sdy.cost.memory import peak_bytes
from sdy.cost.traffic import traffic_of


@dataclass(frozen=True, slots=True)
class CollectiveStatistics:
    """The collectives of one kind: places in the program, runs, and bytes that each device sends in all of them."""

    places: int
    runs: int
    bytes_sent: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """Of one device: bytes sent, by kind of collective; FLOPs of dots and convolutions; most bytes alive at once."""

    collectives: dict[CollectiveKind, CollectiveStatistics]
    flops: int
    peak_bytes: int

    @property
    def bytes_sent(self) -> float:
        """By all collectives."""
        return sum(each.bytes_sent for each in self.collectives.values())

    def to_json(self) -> dict[str, object]:
        """As plain data; bytes are rounded to whole ones."""
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
    """Of a local program, as `sdy-local-pipeline` leaves it."""
    collectives: dict[CollectiveKind, CollectiveStatistics] = {}
    for use in traffic_of(local):
        so_far = collectives.get(use.kind, CollectiveStatistics(0, 0, 0.0))
        collectives[use.kind] = CollectiveStatistics(
            so_far.places + 1, so_far.runs + use.times, so_far.bytes_sent + use.times * use.bytes_per_run
        )
    in_order = {kind: collectives[kind] for kind in CollectiveKind if kind in collectives}
    return Statistics(in_order, flops_of(local), peak_bytes(local))
