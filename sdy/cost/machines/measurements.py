"""Measured times of collectives, products and copies, read from a CSV, and what a machine is predicted to take.

The columns of a row say what it is: a `collective` among `devices`, whose larger operand or result has `bytes`; the
product (`op` is `matmul`) of an m x k and a k x n matrix of a `dtype`; or an `op` on arrays of `operand_bytes`. Each
row has `seconds`, and may name its `machine`. Other columns are left aside.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from math import inf
from typing import NoReturn

from xdsl.dialects.builtin import TensorType, bf16, f4E2M1FN, f8E4M3FN, f16, f32, f64, i8
from xdsl.ir import Attribute

from sdy.cost.collectives import CollectiveKind
from sdy.cost.hardware import Hardware, Switch
from sdy.cost.kernels.work import Work
from sdy.cost.machine_layout import (
    SwitchGroup,
    TorusLine,
    devices_of_a_node,
    switch_time,
    torus_digits,
    torus_time,
)
from sdy.cost.roofline import OpTime, Product, compute_seconds
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Span
from sdy.diagnostics.wording import similar_name_hint
from sdy.dialects.tensor_bytes import tensor_bytes

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
