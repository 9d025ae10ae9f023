"""Ops on corresponding elements, and combinations of elements by an op in any order, on codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import Operation

from sdy.evidence.proof.contributions import IDEMPOTENT, ONES, is_float
from sdy.evidence.proof.factors import attributes_of
from sdy.evidence.proof.relations import ARBITRARY, Codes, Elements, NotProvedError
from sdy.evidence.proof.rings import (
    ONE,
    added,
    as_integer,
    as_integers,
    chosen,
    is_integer,
    is_ring,
    of_integer,
    scaled,
)
from sdy.evidence.proof.small_values.choices import Ends, limits_of
from sdy.evidence.proof.small_values.codes import ElementTable
from sdy.evidence.proof.small_values.sets import of_sets
from sdy.evidence.proof.walk import element_of, shape_of


def pointwise(table: ElementTable, op: Operation, operands: Sequence[Elements]) -> Codes:
    """Return the codes of an op on corresponding elements; operands of rank 0 apply to all of them."""
    shape, element = shape_of(op.results[0]), element_of(op.results[0])
    if any(len(each.shape) not in (0, len(shape)) for each in operands):
        raise NotProvedError("a conversion that changes the rank")
    rows = np.broadcast_arrays(*(each.codes.reshape((-1, *(each.shape or (1,) * len(shape)))) for each in operands))
    rows = np.broadcast_arrays(np.empty((1, *shape)), *rows)[1:]
    name, source = op.name.removeprefix("stablehlo."), operands[0].element
    if name in COMBINED and (name in IDEMPOTENT or is_ring(element)):
        return combined(table, COMBINED[name], element, rows)
    if name == "convert" and (source == element or (is_float(source) and is_float(element))):
        factor = ONE if source == element else table.variable("convert", source, element)
        found = scaled(rows[0], np.array(factor))
        table.masked.note(found, table.masked.has(rows[0]))
        return found
    if name in ("subtract", "negate") and is_ring(element):
        return _difference(table, name, element, rows)
    if name == "divide" and is_float(element):
        return multiplied(table, element, rows[0], table.variables(("inverse", element), rows[1:]))
    if name == "select":
        return _select(table, element, rows)
    if name == "not" and element == "i1":
        return chosen(rows[0], np.array(0), np.array(ONE))
    found = table.variables((op.name, attributes_of(op), source, element), rows)
    if name in BY_ROW and is_integer(source) and (name == "compare" or is_integer(element)):
        return _by_row(table, op, rows, source, found)
    return found


def _difference(table: ElementTable, name: str, element: str, rows: Sequence[Codes]) -> Codes:
    """Return the codes of differences, or of negative numbers."""
    # What is subtracted from itself stays for floats.
    minus = of_integer(-1) if is_integer(element) else table.variable("minus")
    found = scaled(rows[-1], np.array(minus))
    table.masked.note(found, table.masked.has(rows[-1]))
    if name == "negate":
        return found
    if is_integer(element):
        return _shifted(table, added(rows[0], found), rows, element, -1)
    return combined(table, "add", element, [rows[0], found])


def _select(table: ElementTable, element: str, rows: Sequence[Codes]) -> Codes:
    """Return the codes of elements that a mask chooses."""
    mask, one, other = rows
    if is_float(element):  # a negative zero changes nothing where other devices have contributions
        is_minus = (other == table.minus_zero(element)) & (mask != 0) & (mask != ONE)
        other = np.where(is_minus, 0, other)
    found = table.choices.where(mask, one, other)
    table.masked.note_choice(element, found, one, other)
    return found


COMBINED = {"add": "add", "multiply": "multiply", **{each: each for each in IDEMPOTENT}}


def combined(table: ElementTable, kind: str, element: str, values: Sequence[Codes]) -> Codes:
    """Return the codes of values of one shape that are combined in any order.

    Raises: NotProvedError if they are not combined by a sum, product, maximum, or the like.
    """
    if kind in IDEMPOTENT:
        return of_sets(table, kind, element, values)
    if not is_ring(element) or kind not in COMBINED:
        raise NotProvedError("elements that are combined in another way")
    found = values[0]
    for each in values[1:]:
        if kind == "multiply":
            found = _product(table, element, found, each)
        elif is_integer(element) and len(values) == 2:
            found = _shifted(table, added(found, each), (found, each), element, 1)
        else:
            minus = table.minus_zero(element)  # changes nothing, unlike the other zero
            total = added(np.where(found == minus, 0, found), np.where(each == minus, 0, each))
            table.masked.note(total, table.masked.has(found) & table.masked.has(each))
            found = np.where((found == minus) & (each == minus), minus, total)
    return found


def _product(table: ElementTable, element: str, one: Codes, other: Codes) -> Codes:
    """Return the codes of products; an element times the constant one is that element."""
    found = multiplied(table, element, one, other)
    if element not in ONES:
        return found
    neutral = table.constant(element, ONES[element])
    return np.where(other == neutral, one, np.where(one == neutral, other, found))


def multiplied(table: ElementTable, element: str, one: Codes, other: Codes) -> Codes:
    """Return the codes of products. A float that is multiplied by zero is not zero: it may be infinite."""
    if is_integer(element):
        return scaled(one, other)
    one, other = (np.where(table.masked.has(each), table.variables("masked", [each]), each) for each in (one, other))
    zero, zeros = table.variable("zero"), (0, table.minus_zero(element))
    are_zero = np.isin(one, zeros), np.isin(other, zeros)
    found = scaled(np.where(are_zero[0], zero, one), np.where(are_zero[1], zero, other))
    return np.where(are_zero[0] & are_zero[1], 0, found)


def _shifted(table: ElementTable, found: Codes, rows: Sequence[Codes], element: str, sign: int) -> Codes:
    """Return sums or differences, and note those of an integer and a known one."""
    if is_integer(element):
        for value, shift, factor in ((rows[0], rows[1], sign), *((rows[1], rows[0], 1),) * (sign > 0)):
            numbers, is_known = as_integers(shift)
            is_noted = is_known & (found != ARBITRARY) & ~as_integers(value)[1]
            for code, integer, number in set(
                zip(*(x[is_noted].tolist() for x in (found, value, numbers)), strict=True)
            ):
                table.choices.clamp(code, integer, (None, None), element, number * factor)
    return found


def _by_row(table: ElementTable, op: Operation, rows: Sequence[Codes], source: str, found: Codes) -> Codes:
    """Return the codes of an op on integers of which some may be known; `found` for those of which none is."""
    flat = np.stack([each.reshape(-1) for each in (*rows, found)], -1)
    distinct, inverse = np.unique(flat, axis=0, return_inverse=True)
    code_of = BY_ROW[op.name.removeprefix("stablehlo.")](table, op, source)
    codes = [each[-1] if ARBITRARY in each else code_of(each) for each in distinct.tolist()]
    return np.array(codes, np.int64)[inverse.reshape(found.shape)]


def _clamp(table: ElementTable, op: Operation, source: str) -> CodeOfRow:
    def clamped(row: Sequence[int]) -> int:
        low, value, high = map(as_integer, row[:3])
        if low is None or high is None:
            return row[-1]
        if value is not None:
            return of_integer(min(max(value, low), high))
        if low <= high:
            table.choices.clamp(row[-1], row[1], (low, high), source)
        return row[-1]

    return clamped


def _convert(table: ElementTable, op: Operation, source: str) -> CodeOfRow:
    limits, wanted = limits_of(source), limits_of(element_of(op.results[0]))

    def converted(row: Sequence[int]) -> int:
        low, high = table.choices.range_of(row[0])
        low, high = (limits[0] if low is None else low), (limits[1] if high is None else high)
        if low < wanted[0] or high > wanted[1]:
            return row[-1]
        if as_integer(row[0]) is not None:
            return row[0]
        table.choices.clamp(row[-1], row[0], (None, None), source)
        return row[-1]

    return converted


def _compare(table: ElementTable, op: Operation, source: str) -> CodeOfRow:
    """Return the code of a comparison with a known integer: whether the other one lies in an interval."""
    direction = next(each for each in DIRECTIONS if each in str(op.properties["comparison_direction"]))
    swapped = direction.translate(str.maketrans("GL", "LG"))

    def compared(row: Sequence[int]) -> int:
        integer, number, ends_of = row[0], as_integer(row[1]), DIRECTIONS[direction]
        if number is None:
            integer, number, ends_of = row[1], as_integer(row[0]), DIRECTIONS[swapped]
        if number is None:
            return row[-1]
        code = table.choices.of_interval(table.choices.interval(integer, *ends_of(number)))
        return int(chosen(np.array(code), np.array(0), np.array(ONE))) if direction == "NE" else code

    return compared


DIRECTIONS: dict[str, Callable[[int], Ends]] = {
    "EQ": lambda number: (number, number),
    "NE": lambda number: (number, number),
    "GE": lambda number: (number, None),
    "GT": lambda number: (number + 1, None),
    "LE": lambda number: (None, number),
    "LT": lambda number: (None, number - 1),
}
CodeOfRow = Callable[[Sequence[int]], int]  # of the codes of the operands, and a code if nothing is known
BY_ROW: dict[str, Callable[[ElementTable, Operation, str], CodeOfRow]] = {
    "clamp": _clamp,
    "convert": _convert,
    "compare": _compare,
}
