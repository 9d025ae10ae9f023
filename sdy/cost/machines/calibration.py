"""Fits a machine to measurements: what kernels and collectives reach, and how long they take however small.

Measured times are read from a CSV. The columns of a row say what it is: a `collective` among `devices`, whose larger
operand or result has `bytes`; the product (`op` is `matmul`) of an m x k and a k x n matrix of a `dtype`; or an `op` on
arrays of `operand_bytes`. Each row has `seconds`, and may name its `machine`. Other columns are left aside.

Each kind of measurements fits its own numbers, one after another, so that the sum of the logarithmic errors becomes
minimal. That error is as large for half the time as for twice the time, and a few outliers do not pull it away. The
numbers of the data sheet stay as they are.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from math import inf, log
from statistics import median
from typing import NamedTuple, NoReturn, cast

from xdsl.dialects.builtin import TensorType, bf16, f4E2M1FN, f8E4M3FN, f16, f32, f64, i8
from xdsl.ir import Attribute

from sdy.cost.collectives import CollectiveKind
from sdy.cost.hardware import Hardware, Switch
from sdy.cost.kernels.work import Work
from sdy.cost.machine_layout import SwitchGroup, TorusLine, devices_of_a_node, switch_time, torus_digits, torus_time
from sdy.cost.quantities import seconds_text
from sdy.cost.roofline import OpTime, Product, compute_seconds
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Span
from sdy.diagnostics.wording import similar_name_hint
from sdy.dialects.sharded_types import tensor_bytes

COLLECTIVES, PRODUCTS, COPIES = "collectives", "products", "copies"  # the kinds of measurements
MOST_COUNT = 1 << 62
_COLLECTIVES = {
    each.value.replace("-", "_"): each for each in CollectiveKind if each is not CollectiveKind.COLLECTIVE_PERMUTE
}
_DTYPES: Mapping[str, Attribute] = {
    "float64": f64, "float32": f32, "float16": f16, "bfloat16": bf16, "float8_e4m3fn": f8E4M3FN, "int8": i8,
    "float4_e2m1fn": f4E2M1FN,
}  # fmt: skip
# How many arrays an op reads and writes. The names are those of BabelStream.
_ARRAYS = {"copy": 2, "scale": 2, "add": 3, "triad": 3, "dot": 2}
Prediction = Callable[[Hardware], float]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measured time, and the function that predicts it for a machine.

    `devices` and `collective` say how many devices take part in which collective; 1 and None for an op on one device.
    """

    kind: str
    machine: str
    seconds: float
    predicted: Prediction
    span: Span
    devices: int = 1
    collective: CollectiveKind | None = None

    def error(self, hardware: Hardware) -> float:
        """Return the relative error of the predicted time: 0.1 if it is 10 % too long."""
        return self.predicted(hardware) / self.seconds - 1


def read_measurements(text: str, file_name: str) -> list[Measurement]:
    """Return the measurements of a CSV.

    Raises: SdyError SDY-T233 if it has no row, if a column is missing, or a cell is not as expected.
    """
    lines = text.splitlines()
    rows = csv.DictReader(StringIO(text), restval="")
    columns = list(rows.fieldnames or ())
    found: list[Measurement] = []
    for cells in rows:
        line = lines[rows.line_num - 1] if rows.line_num <= len(lines) else ""
        found.append(_Row(cells, columns, Span(file_name, rows.line_num, 1, max(len(line), 1), line)).measurement())
    if not found:
        raise SdyError(Diagnostic("SDY-T233", f"{file_name} has no measurements", hint=_HINT))
    return found


_HINT = "a row has seconds, and either collective, devices and bytes; or op, m, n, k and dtype; or op and operand_bytes"


@dataclass(frozen=True)
class _Row:
    cells: Mapping[str, str]
    columns: Sequence[str]
    span: Span

    def measurement(self) -> Measurement:
        """Return the measurement of the row. Raises: SdyError SDY-T233 if a cell is not as expected."""
        machine = self.cells.get("machine", "")
        if self.cells.get("collective"):
            kind = _COLLECTIVES[self._choice("collective", _COLLECTIVES)]
            devices, size = int(self._number("devices", least=2)), self._number("bytes")
            predicted = _collective(kind, devices, size / devices if kind is CollectiveKind.REDUCE_SCATTER else size)
            return Measurement(COLLECTIVES, machine, self._seconds(), predicted, self.span, devices, kind)
        op = self._choice("op", ("matmul", *_ARRAYS))
        if op == "matmul":
            m, n, k = (int(self._number(each, least=1)) for each in "mnk")
            predicted = _product(m, n, k, _DTYPES[self._choice("dtype", _DTYPES)])
            return Measurement(PRODUCTS, machine, self._seconds(), predicted, self.span)
        predicted = _copy(_ARRAYS[op] * self._number("operand_bytes", least=1))
        return Measurement(COPIES, machine, self._seconds(), predicted, self.span)

    def _seconds(self) -> float:
        return self._number("seconds", least=1e-12)

    def _number(self, column: str, least: float = 0.0) -> float:
        text = self._cell(column)
        try:
            number = float(text)
        except ValueError:
            number = inf
        if not least <= number < MOST_COUNT:
            self._fail(f"{column}: expected a number from {least:g}, got {text!r}", _HINT, text)
        return number

    def _choice(self, column: str, names: Mapping[str, object] | Sequence[str]) -> str:
        text = self._cell(column)
        if text not in names:
            hint = similar_name_hint(text, names) or f"known: {', '.join(names)}"
            self._fail(f"{column}: expected one of {', '.join(names)}, got {text!r}", hint, text)
        return text

    def _cell(self, column: str) -> str:
        if column not in self.columns:
            self._fail(f"the row has no column {column!r}", f"{_HINT}; columns: {', '.join(self.columns)}")
        return self.cells[column]

    def _fail(self, message: str, hint: str, cell: str = "") -> NoReturn:
        line = self.span.text or ""
        at = f",{line},".find(f",{cell},") if cell else -1
        span = self.span if at < 0 else self.span._replace(column=at + 1, length=len(cell))
        raise SdyError(Diagnostic("SDY-T233", message, span, hint))


def _collective(kind: CollectiveKind, devices: int, result_bytes: float) -> Prediction:
    """Return the prediction for a collective among all devices of a mesh of one axis."""

    def predicted(hardware: Hardware) -> float:
        network = hardware.network
        if isinstance(network, Switch):
            members = devices_of_a_node(devices, network)
            return switch_time(kind, result_bytes, SwitchGroup(devices // members, members), network).seconds
        axes, chip, pods = torus_digits([devices], network)
        lines = [TorusLine(axis.size, network.wraps(axis.size)) for axis in axes]
        return torus_time(kind, result_bytes, lines, network, pods=pods.size, across_chip=chip.size > 1).seconds

    return predicted


def _product(m: int, n: int, k: int, element: Attribute) -> Prediction:
    operands = TensorType(element, [m, k]), TensorType(element, [k, n])
    moved = sum(map(tensor_bytes, (*operands, TensorType(element, [m, n]))))

    def predicted(hardware: Hardware) -> float:
        product = Product(1, m, n, k)
        compute = compute_seconds(2.0 * m * n * k, operands[0], product, hardware, Work((1, 1), (1,)))
        return _kernel(compute, moved, hardware)

    return predicted


def _copy(moved: float) -> Prediction:
    return lambda hardware: _kernel(0.0, moved, hardware)


def _kernel(compute: float, moved: float, hardware: Hardware) -> float:
    kernels = hardware.kernels
    memory = moved / (hardware.hbm_bandwidth * kernels.hbm_efficiency)
    return OpTime(compute, memory, kernels.start_seconds, kernels.unhidden).seconds


def of_machine(rows: Sequence[Measurement], name: str) -> Iterator[Measurement]:
    """Yield the measurements of a machine, and those that name none."""
    return (each for each in rows if each.machine in ("", name))


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
