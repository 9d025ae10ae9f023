"""Fits a machine to measurements: what kernels and collectives reach, and how long they take however small.

Each kind of measurements fits its own numbers, one after another, so that the sum of the logarithmic errors becomes
minimal. That error is as large for half the time as for twice the time, and a few outliers do not pull it away. The
numbers of the data sheet stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import median
from typing import NamedTuple, cast

from sdy.cost.collectives import CollectiveKind
from sdy.cost.hardware import Hardware, Switch
from sdy.cost.machine_layout import devices_of_a_node
from sdy.cost.machines.measurements import COLLECTIVES, COPIES, PRODUCTS, Measurement
from sdy.cost.quantities import seconds_text
from sdy.diagnostics.diagnostic import Diagnostic, SdyError

_WIDTHS = (1000.0, 50.0, 8.0, 2.0, 1.3, 1.08, 1.02)  # by what the candidates of a sweep differ at most
_CANDIDATES = 30  # on each side
PRIOR = 0.05  # the error of a row that is worth a factor of e: numbers that the rows hardly tell stay where they are
LARGEST_ERROR = 0.5  # in the median of a kind: more is not a matter of what kernels reach


class _Number(NamedTuple):
    """A number that is fitted: a field of the kernels or the network of a machine, and its range."""

    part: str
    field: str
    least: float
    most: float
    if_none: float  # where to begin if the machine has 0

    def of(self, hardware: Hardware) -> float:
        return cast("float", getattr(getattr(hardware, self.part), self.field)) or self.if_none

    def replaced(self, hardware: Hardware, value: float) -> Hardware:
        part = replace(getattr(hardware, self.part), **{self.field: value})
        return replace(hardware, **{self.part: part})


def _share(part: str, field: str) -> _Number:
    return _Number(part, field, 1e-4, 1.0, 0.8)


def _seconds(part: str, field: str) -> _Number:
    return _Number(part, field, 1e-9, 0.1, 1e-6)


@dataclass(frozen=True, slots=True)
class KindErrors:
    """The errors of the measurements of a kind: how many there are, the median, and what 90 % do not exceed."""

    kind: str
    count: int
    median: float
    most: float


def errors_of(hardware: Hardware, rows: Sequence[Measurement]) -> list[KindErrors]:
    """Return the sizes of the errors of each kind of measurements that there are."""
    found: list[KindErrors] = []
    for kind in (COPIES, PRODUCTS, COLLECTIVES):
        sizes = sorted(abs(each.error(hardware)) for each in rows if each.kind == kind)
        if sizes:
            found.append(KindErrors(kind, len(sizes), median(sizes), sizes[-(-9 * len(sizes) // 10) - 1]))
    return found


def calibrated(hardware: Hardware, rows: Sequence[Measurement]) -> Hardware:
    """Return a machine with the data sheet of `hardware` that takes as long as was measured.

    Raises: SdyError SDY-T234 if the data sheet does not fit: half of the measurements of a kind are off by more than
    `LARGEST_ERROR`, whatever share of it kernels reach.
    """
    for numbers, measured in _groups(hardware, rows):
        hardware = _fitted(hardware, numbers, measured)
    for errors in errors_of(hardware, rows):
        if errors.median > LARGEST_ERROR:
            raise _misfit(hardware, [each for each in rows if each.kind == errors.kind])
    return hardware


Group = tuple[Sequence[_Number], Sequence[Measurement]]


def _groups(hardware: Hardware, rows: Sequence[Measurement]) -> Iterator[Group]:
    """Yield the numbers that each group of measurements fits: those of kernels, then those of collectives."""
    by_kind = {kind: [each for each in rows if each.kind == kind] for kind in (COPIES, PRODUCTS, COLLECTIVES)}
    kernels = [_seconds("kernels", "start_seconds")]
    kernels += [_share("kernels", "hbm_efficiency")] if by_kind[COPIES] else []
    kernels += [_share("kernels", "matrix_efficiency")] if by_kind[PRODUCTS] else []
    groups: list[Group] = [(kernels, by_kind[COPIES] + by_kind[PRODUCTS])]
    network, collectives = hardware.network, by_kind[COLLECTIVES]
    if isinstance(network, Switch):
        groups += _groups_of_switch(network, collectives)
    else:
        groups.append(([_share("network", "efficiency"), _seconds("network", "start_seconds")], collectives))
    return (group for group in groups if group[1])


def _groups_of_switch(switch: Switch, rows: Sequence[Measurement]) -> Iterator[Group]:
    """Yield the collectives inside of nodes, those that the switch computes, and those between nodes."""
    near = [each for each in rows if devices_of_a_node(each.devices, switch) == each.devices]
    by_switch = [each for each in near if switch.reduction_bandwidth and each.collective is CollectiveKind.ALL_REDUCE]
    others = [each for each in near if each not in by_switch]
    hop = _seconds("network", "hop_seconds")
    ramp = [_seconds("network", "ramp_seconds")] if switch.ramp_seconds else []
    reduction = _Number("network", "reduction_bandwidth", 1e6, 1e14, 1e11)
    yield [_share("network", "efficiency"), hop, *([] if by_switch else ramp)], others
    yield [reduction, *ramp, *([] if others else [hop])], by_switch
    far = [each for each in rows if each not in near]
    yield [_share("network", "network_efficiency"), _seconds("network", "network_hop_seconds")], far


def _fitted(hardware: Hardware, numbers: Sequence[_Number], rows: Sequence[Measurement]) -> Hardware:
    """Return the machine with the best of many candidates for each number in turn, which get closer and closer."""
    first = [number.of(hardware) for number in numbers]

    def loss(candidate: Hardware) -> float:
        moved = sum(abs(log(number.of(candidate) / begun)) for number, begun in zip(numbers, first, strict=True))
        return sum(abs(log(each.predicted(candidate) / each.seconds)) for each in rows) + PRIOR * moved

    for width in _WIDTHS:
        for number in numbers:
            value = number.of(hardware)
            ratios = (width ** (step / _CANDIDATES) for step in range(-_CANDIDATES, _CANDIDATES + 1))
            values = (min(max(value * ratio, number.least), number.most) for ratio in ratios)
            hardware = min((hardware, *(number.replaced(hardware, each) for each in values)), key=loss)
    return hardware


def _misfit(hardware: Hardware, rows: Sequence[Measurement]) -> SdyError:
    worst = max(rows, key=lambda each: abs(log(each.predicted(hardware) / each.seconds)))
    times = f"measured {seconds_text(worst.seconds)}, predicted {seconds_text(worst.predicted(hardware))}"
    message = f"the {worst.kind} do not fit {hardware.name}: half of them are off by more than {LARGEST_ERROR:.0%}"
    hint = "check the bandwidths and rates of the machine, which are those of its data sheet, and the units of the rows"
    return SdyError(Diagnostic("SDY-T234", f"{message}, most of all this one: {times}", worst.span, hint))
