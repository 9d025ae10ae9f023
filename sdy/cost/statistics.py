"""Statistics of a local program that can be compared: bytes sent, FLOPs and peak memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from sdy.cost.collectives import CollectiveKind
from sdy.cost.flops import flops_of
from sdy.cost.memory import peak_bytes
from sdy.cost.traffic import traffic_of
from sdy.model.html_repr import TextRepr


@dataclass(frozen=True, slots=True)
class CollectiveStatistics:
    """The collectives of one kind: the number of ops, the number of runs, and the bytes that each device sends in
    total.
    """

    places: int
    runs: int
    bytes_sent: float


@dataclass(frozen=True, slots=True)
class Statistics(TextRepr):
    """The statistics of one device: bytes sent by kind of collective, FLOPs of contractions, and peak memory."""

    collectives: dict[CollectiveKind, CollectiveStatistics]
    flops: int
    peak_bytes: int

    def __repr__(self) -> str:
        return f"Statistics({self.bytes_sent:,.0f} bytes sent, {self.flops:,} FLOPs, {self.peak_bytes:,} peak bytes)"

    @property
    def bytes_sent(self) -> float:
        """The bytes sent by all collectives."""
        return sum(statistics.bytes_sent for statistics in self.collectives.values())

    @property
    def runs(self) -> int:
        """The number of runs of all collectives."""
        return sum(statistics.runs for statistics in self.collectives.values())

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
    runs = ((use.kind, use.times, use.bytes_per_run) for use in traffic_of(local))
    return Statistics(collective_statistics(runs), flops_of(local), peak_bytes(local))


def collective_statistics(
    runs: Iterable[tuple[CollectiveKind, int, float]],
) -> dict[CollectiveKind, CollectiveStatistics]:
    """Return the statistics by kind, from the kind of each collective, how often it runs, and the bytes of one run."""
    found: dict[CollectiveKind, CollectiveStatistics] = {}
    for kind, times, sent in runs:
        so_far = found.get(kind, CollectiveStatistics(0, 0, 0.0))
        found[kind] = CollectiveStatistics(so_far.places + 1, so_far.runs + times, so_far.bytes_sent + times * sent)
    return {kind: found[kind] for kind in CollectiveKind if kind in found}
