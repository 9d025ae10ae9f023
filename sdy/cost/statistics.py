"""Statistics that can be compared, of a local program and of one that XLA compiled: bytes sent, FLOPs, peak memory.

In the HLO text of XLA, collectives send the bytes of ring algorithms, loops count as often as they run, all branches of
a conditional count, and loops whose number of trips XLA does not know count once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import ModuleOp

from sdy.cost.collectives import CollectiveKind, bytes_sent
from sdy.cost.flops import flops_of
from sdy.cost.memory import peak_bytes
from sdy.cost.traffic import traffic_of
from sdy.documents.document import document
from sdy.model.html_repr import TextRepr


@dataclass(frozen=True, slots=True)
class CollectiveStatistics:
    """The ops of one kind of collective, their runs, and the bytes that each device sends in all runs."""

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
        return document("Statistics", self)


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


_COMPUTATION = re.compile(r"(?P<entry>ENTRY )?%?(?P<name>[\w.\-]+) \(.*\{")
_KINDS = "|".join(kind.value for kind in CollectiveKind)
_COLLECTIVE = re.compile(rf" = (?P<type>.*?) (?P<kind>{_KINDS})(?:-start)?\(")
_TENSOR = re.compile(r"\b(?P<element>[a-z]+(?P<bits>\d+)?\w*)\[(?P<sizes>[\d,]*)\]")
_CALLED = re.compile(r"(?:body|condition|calls|to_apply|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_LISTED_GROUPS = re.compile(r"replica_groups=\{\{([\d,]+)\}")
_COUNTED_GROUPS = re.compile(r"replica_groups=\[\d+,(\d+)\]")
_MESH_GROUPS = re.compile(r"replica_groups=mesh\[(?P<mesh>[^\]]*)\](?:, device_ids=\S+)?\s*\{(?P<axes>[^}]*)\}")
_PARTITIONS = re.compile(r"num_partitions=(\d+)")
_DEFINITION = re.compile(r"\s*(?:ROOT )?%?(?P<name>[\w.\-]+) = (?P<type>\S+)")
_DOT = re.compile(r" = (?P<type>\S+) dot\(%?(?P<lhs>[\w.\-]+),.*lhs_contracting_dims=\{(?P<dims>[\d,]*)\}")
_CONVOLUTION = re.compile(
    r" = (?P<type>\S+) convolution\(%?[\w.\-]+, %?(?P<kernel>[\w.\-]+)\).*dim_labels=\w+_(?P<labels>\w+)->"
)
_WIDTHS = {"pred": 8, "bf16": 16, "token": 0}  # bits of elements whose names do not begin with a letter and the bits


@dataclass(frozen=True)
class HloModule:
    """The lines of each computation of a compiled module, by name, and how often each computation runs."""

    text: str

    def statistics(self, peak_bytes: int) -> Statistics:
        """Return the statistics of one device; its peak memory is not in the text."""
        lines = list(self._executed_lines())
        collectives = ((_COLLECTIVE.search(line), line, runs) for line, runs in lines)
        found = collective_statistics(
            (CollectiveKind(match["kind"]), runs, self._bytes_sent(match, line))
            for match, line, runs in collectives
            if match is not None
        )
        return Statistics(found, sum(runs * self._flops(line) for line, runs in lines), peak_bytes)

    @cached_property
    def _computations(self) -> tuple[dict[str, list[str]], str]:
        found: dict[str, list[str]] = {}
        entry, current = "", ""
        for line in self.text.splitlines():
            header = _COMPUTATION.match(line)
            if header is not None:
                current = header["name"]
                found[current] = []
                entry = current if header["entry"] else entry
            elif current and line.startswith("  "):
                found[current].append(line)
        return found, entry

    @cached_property
    def _runs(self) -> Counter[str]:
        """The number of times that each computation runs while the module runs once."""
        computations, entry = self._computations
        runs = Counter({entry: 1})
        # HLO lists a computation after those that it calls.
        for name in reversed(computations):
            for line in computations[name]:
                trips = _TRIPS.search(line)
                for called in _called_by(line):
                    runs[called] += runs[name] * (1 if trips is None else int(trips[1]))
        return runs

    @cached_property
    def _types(self) -> dict[str, str]:
        """The type of each instruction, by its name, which is unique in a module."""
        lines = (line for each in self._computations[0].values() for line in each)
        return {found["name"]: found["type"] for found in map(_DEFINITION.match, lines) if found is not None}

    def _executed_lines(self) -> Iterator[tuple[str, int]]:
        for name, lines in self._computations[0].items():
            if self._runs[name]:
                yield from ((line, self._runs[name]) for line in lines)

    def _bytes_sent(self, collective: re.Match[str], line: str) -> float:
        tensors = [_tensor_bytes(each) for each in _TENSOR.finditer(collective["type"])]
        return bytes_sent(CollectiveKind(collective["kind"]), self._group_size(line), sum(tensors))

    def _group_size(self, line: str) -> int:
        if listed := _LISTED_GROUPS.search(line):
            return listed[1].count(",") + 1
        if counted := _COUNTED_GROUPS.search(line):
            return int(counted[1])
        if on_mesh := _MESH_GROUPS.search(line):
            sizes = dict(re.findall(r"'([^']+)'=(\d+)", on_mesh["mesh"]))
            axes = re.findall(r"'([^']+)'(?::\(\d+\)(\d+))?", on_mesh["axes"])
            return prod(int(part or sizes[axis]) for axis, part in axes)
        partitions = _PARTITIONS.search(self.text)
        return 1 if partitions is None else int(partitions[1])

    def _flops(self, line: str) -> int:
        """Return the FLOPs of a matrix product or convolution; 0 for any other line."""
        if dot := _DOT.search(line):
            contracted = _sizes(self._types[dot["lhs"]])
            dims = [int(dim) for dim in dot["dims"].split(",") if dim]
            return 2 * prod(_sizes(dot["type"])) * prod(contracted[dim] for dim in dims)
        if convolution := _CONVOLUTION.search(line):
            kernel = zip(_sizes(self._types[convolution["kernel"]]), convolution["labels"], strict=True)
            products = prod(size for size, label in kernel if label != "o")
            return 2 * prod(_sizes(convolution["type"])) * products
        return 0


def _called_by(line: str) -> list[str]:
    branches = _BRANCHES.search(line)
    return [*_CALLED.findall(line), *(re.findall(r"[\w.\-]+", branches[1]) if branches else ())]


def _tensor_bytes(tensor: re.Match[str]) -> int:
    bits = _WIDTHS.get(tensor["element"], int(tensor["bits"] or 0))
    return -(-bits * prod(_sizes(tensor[0])) // 8)


def _sizes(tensor: str) -> list[int]:
    found = _TENSOR.search(tensor)
    return [] if found is None else [int(size) for size in found["sizes"].split(",") if size]
