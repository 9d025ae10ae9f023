"""Fits a machine to measurements: what kernels and collectives reach, and how long they take however small.

Measured times are read from a CSV. The columns of a row say what it is: a `collective` among `devices`, whose larger
operand or result has `bytes`; the product (`op` is `matmul`) of an m x k and a k x n matrix of a `dtype`; or an `op` on
arrays of `operand_bytes`. Each row has `seconds`, and may name its `machine`. Other columns are left aside.

Each number is fitted to the rows that it changes, one after another, so that the sum of the logarithmic errors becomes
minimal. That error is as large for half the time as for twice the time, and a few outliers do not pull it away. The
numbers of the data sheet stay as they are.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from math import inf, log, prod
from statistics import median
from typing import NamedTuple, NoReturn, cast

from xdsl.dialects.builtin import TensorType, bf16, f4E2M1FN, f8E4M3FN, f16, f32, f64, i8
from xdsl.ir import Attribute

from sdy.cost.collectives import CollectiveKind
from sdy.cost.hardware import Hardware, Network, Switch
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
    """A measured time, and the function that predicts it for a machine."""

    kind: str
    machine: str
    seconds: float
    predicted: Prediction
    span: Span

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
        if self.cells.get("collective"):
            collective = _COLLECTIVES[self._choice("collective", _COLLECTIVES)]
            devices, size = int(self._number("devices", least=2)), self._number("bytes")
            result = size / devices if collective is CollectiveKind.REDUCE_SCATTER else size
            kind, predicted = COLLECTIVES, _collective(collective, devices, result)
        elif (op := self._choice("op", ("matmul", *_ARRAYS))) == "matmul":
            m, n, k = (int(self._number(each, least=1)) for each in "mnk")
            element = _DTYPES[self._choice("dtype", _DTYPES)]
            moved = sum(tensor_bytes(TensorType(element, sizes)) for sizes in ([m, k], [k, n], [m, n]))
            kind, predicted = PRODUCTS, _kernel(moved, Product(1, m, n, k), element)
        else:
            kind, predicted = COPIES, _kernel(_ARRAYS[op] * self._number("operand_bytes", least=1))
        seconds = self._number("seconds", least=1e-12)
        return Measurement(kind, self.cells.get("machine", ""), seconds, predicted, self.span)

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


def _kernel(moved: float, product: Product | None = None, element: Attribute = bf16) -> Prediction:
    """Return the prediction for a kernel that reads and writes bytes, and perhaps multiplies matrices."""
    flops = 0.0 if product is None else 2.0 * prod(product)

    def predicted(hardware: Hardware) -> float:
        kernels = hardware.kernels
        compute = compute_seconds(flops, TensorType(element, []), product, hardware, Work((1, 1), (1,)))
        memory = moved / (hardware.hbm_bandwidth * kernels.hbm_efficiency)
        return OpTime(compute, memory, kernels.start_seconds, kernels.unhidden).seconds

    return predicted


_WIDTHS = (1000.0, 50.0, 8.0, 2.0, 1.3, 1.08, 1.02)  # by what the candidates of a sweep differ at most
_CANDIDATES = 30  # on each side
PRIOR = 0.05  # the error of a row that is worth a factor of e: numbers that the rows hardly tell stay where they are
LARGEST_ERROR = 0.5  # in the median of a kind: more is not a matter of what kernels reach


_OF_KERNELS = ("start_seconds", "hbm_efficiency", "matrix_efficiency")
_OF_TORUS = ("efficiency", "start_seconds")
_OF_SWITCH = ("efficiency", "hop_seconds", "network_efficiency", "network_hop_seconds")
_OF_SOME_SWITCHES = ("ramp_seconds", "reduction_bandwidth")  # a machine that has 0 has none
# By unit, the least and the most of a number, and where to begin if the machine has 0.
_RANGES = {"seconds": (1e-9, 0.1, 1e-6), "bandwidth": (1e6, 1e14, 1e11), "efficiency": (1e-4, 1.0, 0.8)}


class _Number(NamedTuple):
    """A number that is fitted: a field of the kernels or the network of a machine."""

    part: str
    field: str

    @property
    def range(self) -> tuple[float, float, float]:
        return _RANGES[self.field.rpartition("_")[2]]

    def of(self, hardware: Hardware) -> float:
        return cast("float", getattr(getattr(hardware, self.part), self.field)) or self.range[2]

    def replaced(self, hardware: Hardware, value: float) -> Hardware:
        part = replace(getattr(hardware, self.part), **{self.field: value})
        return replace(hardware, **{self.part: part})

    def told_by(self, rows: Sequence[Measurement], hardware: Hardware) -> list[Measurement]:
        """Return the rows whose predictions the number changes."""
        least, most = (self.replaced(hardware, bound) for bound in self.range[:2])
        return [row for row in rows if row.predicted(least) != row.predicted(most)]


def _numbers(network: Network) -> list[_Number]:
    """Return the numbers that are fitted, of kernels and of a network."""
    is_switch = isinstance(network, Switch)
    names = (*_OF_SWITCH, *(each for each in _OF_SOME_SWITCHES if getattr(network, each))) if is_switch else _OF_TORUS
    return [*(_Number("kernels", each) for each in _OF_KERNELS), *(_Number("network", each) for each in names)]


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
    numbers = _numbers(hardware.network)
    begun = [(number, number.of(hardware), number.told_by(rows, hardware)) for number in numbers]
    for width in _WIDTHS:
        for number, first, measured in begun:
            hardware = _fitted(hardware, number, first, measured, width) if measured else hardware
    for errors in errors_of(hardware, rows):
        if errors.median > LARGEST_ERROR:
            raise _misfit(hardware, [each for each in rows if each.kind == errors.kind])
    return hardware


def _fitted(hardware: Hardware, number: _Number, first: float, rows: Sequence[Measurement], width: float) -> Hardware:
    """Return the machine with the best of many candidates for a number, which differ by a factor of `width` at most."""

    def loss(candidate: Hardware) -> float:
        errors = sum(abs(log(each.predicted(candidate) / each.seconds)) for each in rows)
        return errors + PRIOR * abs(log(number.of(candidate) / first))

    ratios = (width ** (step / _CANDIDATES) for step in range(-_CANDIDATES, _CANDIDATES + 1))
    least, most, _ = number.range
    values = (min(max(number.of(hardware) * ratio, least), most) for ratio in ratios)
    return min((hardware, *(number.replaced(hardware, each) for each in values)), key=loss)


def _misfit(hardware: Hardware, rows: Sequence[Measurement]) -> SdyError:
    worst = max(rows, key=lambda each: abs(log(each.predicted(hardware) / each.seconds)))
    times = f"measured {seconds_text(worst.seconds)}, predicted {seconds_text(worst.predicted(hardware))}"
    message = f"the {worst.kind} do not fit {hardware.name}: half of them are off by more than {LARGEST_ERROR:.0%}"
    hint = "check the bandwidths and rates of the machine, which are those of its data sheet, and the units of the rows"
    return SdyError(Diagnostic("SDY-T234", f"{message}, most of all this one: {times}", worst.span, hint))
