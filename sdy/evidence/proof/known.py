"""Lemmas on values that are known on each device: constants, iotas, device numbers, and arithmetic on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute, Operation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.evidence.proof.offsets import Offset, offset
from sdy.evidence.proof.relations import FREE, Digit, Known, NotProvedError, Relation, View, have_same_bits, tidy
from sdy.evidence.proof.terms import Shape, Term, TermTable

Rows = npt.NDArray[np.generic]
DTYPES: dict[str, type[np.generic]] = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


def constant(value: DenseElementsAttr, shape: Shape, element: str, table: TermTable) -> View | Known:
    """Return the relation of a constant."""
    if value.is_splat or not shape:
        free = tidy((() if size == 1 else (Digit(size, FREE, 0),)) for size in shape)
        if element in DTYPES:
            return Known(element, shape, None, _decoded(value, element)[:, :1])
        return View(table.make("constant", value.data.raw, (), (), element), (), free)
    if element in DTYPES and len(shape) == 1:
        return Known(element, shape, 0, _decoded(value, element))
    kept = tuple(size for size in shape if size > 1)
    term = table.make("constant", value.data.raw, (), kept, element)
    return whole(term, shape)


def _decoded(value: DenseElementsAttr, element: str) -> Rows:
    if element == "i1":
        return np.array([value.get_values()], np.bool_)
    return np.frombuffer(value.data.raw, DTYPES[element])[None, :]


def whole(term: Term, shape: Shape) -> View:
    """Return the view of the whole term by a value of a shape that has the dims of the term and dims of size 1."""
    numbers = iter(range(len(shape)))
    dims = tuple(() if size == 1 else (Digit(size, next(numbers), 1),) for size in shape)
    return View(term, (0,) * len(term.shape), dims)


def iota(shape: Shape, dim: int, element: str) -> Known:
    """Return the relation of an iota of an integer type."""
    return Known(element, shape, dim, np.arange(shape[dim])[None, :].astype(DTYPES[element]))


def folded(op: Operation, operands: Sequence[Known], shape: Shape, element: str) -> Known | None:
    """Return what an elementwise op on known values computes; None if that is not known."""
    dims = {each.dim for each in operands if each.dim is not None}
    if len(dims) > 1 or element not in DTYPES or any(each.element not in DTYPES for each in operands):
        return None
    rows = [each.rows for each in operands]
    with np.errstate(all="ignore"):
        found = _computed(op, rows, DTYPES[element])
    if found is None:
        return None
    return Known(element, shape, next(iter(dims), None), found.astype(DTYPES[element]))


def _computed(op: Operation, rows: list[Rows], dtype: type[np.generic]) -> Rows | None:
    """Return the result of an op; None if NumPy may compute another one."""
    name, is_float = op.name.removeprefix("stablehlo."), issubclass(dtype, np.floating)
    match name:
        case "compare" if "TOTALORDER" in str(op.properties.get("compare_type")):
            return None
        case "compare":
            direction = str(op.properties["comparison_direction"])
            name = next(each for each in COMPARISONS if each in direction)
            return COMPARISONS[name](*rows)
        case "convert" if np.issubdtype(rows[0].dtype, np.floating) and not is_float:
            return None
        case "remainder" | "divide" if not is_float:
            is_usual = bool(np.greater(rows[1], 0).all()) and bool(np.greater_equal(rows[0], 0).all())
            return INTEGER_DIVISION[name](*rows) if is_usual else None
        case "clamp":
            return np.minimum(np.maximum(rows[1], rows[0]), rows[2])
        case _ if dtype is np.bool_ and name not in STRUCTURAL:
            return BOOLEAN[name](*rows) if name in BOOLEAN else None
        case _:
            return ARITHMETIC[name](*rows) if name in ARITHMETIC else None


Function = Callable[..., Rows]
COMPARISONS: dict[str, Function] = {
    "EQ": np.equal, "NE": np.not_equal, "GE": np.greater_equal, "GT": np.greater, "LE": np.less_equal, "LT": np.less,
}  # fmt: skip
INTEGER_DIVISION: dict[str, Function] = {"divide": np.floor_divide, "remainder": np.remainder}
STRUCTURAL = frozenset({"select", "convert"})
BOOLEAN: dict[str, Function] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "xor": np.logical_xor,
}
ARITHMETIC: dict[str, Function] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "divide": np.divide, "select": np.where, "convert": np.asarray, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "not": np.invert,
}  # fmt: skip


def known_slice(value: Known, dim: int, start: Offset, size: int, stride: int = 1) -> Known:
    """Return the elements of a slice along a dim."""
    shape = (*value.shape[:dim], size, *value.shape[dim + 1 :])
    if dim != value.dim:
        return Known(value.element, shape, value.dim, value.rows)
    starts = np.array([start] if isinstance(start, int) else start)
    indices = starts[:, None] + stride * np.arange(size)
    return Known(value.element, shape, value.dim, np.take_along_axis(value.rows, indices, axis=1))


def ints_of(value: Known, count: int) -> Offset | None:
    """Return the value as an offset per device; None if it varies along a dim."""
    if value.dim is not None:
        return None
    if value.is_uniform:
        return int(value.rows[0, 0])
    assert len(value.rows) == count
    return offset(tuple(map(int, value.rows[:, 0].tolist())))


def as_view(value: View | Known, table: TermTable) -> View:
    """Return a known value as a view of a constant; others as they are.

    Raises: NotProvedError if it varies along a dim and between devices, and is not a window of one of the program.
    """
    if isinstance(value, View):
        return value
    if value.dim is not None and value.is_uniform:
        term = table.make("constant", value.rows.tobytes(), (), (value.rows.shape[1],), value.element)
        return _with_dim(term, 0, value.shape, value.dim)
    if value.dim is not None:
        return _window_of_global(value, value.dim, table)
    is_zero = not value.is_uniform and np.issubdtype(value.rows.dtype, np.floating) and not value.rows.any()
    raw = bytes(value.rows.itemsize) if is_zero else value.rows.tobytes()  # of either sign
    term = table.make("constant" if value.is_uniform or is_zero else "device", raw, (), (), value.element)
    return View(term, (), tidy((() if size == 1 else (Digit(size, FREE, 0),)) for size in value.shape))


def as_known(relation: Relation) -> Relation:
    """Return a view of a constant scalar as a known value, with which more can be computed; others as they are."""
    if not isinstance(relation, View) or relation.partial is not None or relation.term.shape:
        return relation
    term = relation.term
    if term.op != "constant" or term.element not in DTYPES:
        return relation
    assert isinstance(term.attributes, bytes)
    rows = np.frombuffer(term.attributes, DTYPES[term.element])[None, :]
    return Known(term.element, relation.shape, None, rows)


def _window_of_global(value: Known, dim: int, table: TermTable) -> View:
    """Return a value that depends on the device as a window of a constant of the global program.

    Raises: NotProvedError if it is a window of none.
    """
    distinct = {row.tobytes(): row for row in value.rows}
    for term in table.constants[value.element]:
        assert isinstance(term.attributes, bytes)
        elements = np.frombuffer(term.attributes, DTYPES[value.element])
        starts = {key: at for key, row in distinct.items() if (at := _start_of(row, elements)) is not None}
        if len(starts) == len(distinct):
            return _with_dim(term, offset(tuple(starts[row.tobytes()] for row in value.rows)), value.shape, dim)
    raise NotProvedError("a value that depends on the device and varies along a dim")


def _start_of(row: Rows, elements: Rows) -> int | None:
    """Return where the elements have the row; it may reach over their end."""
    for start in np.flatnonzero(elements == row[0])[:2]:
        if have_same_bits(elements[start : start + len(row)], row[: len(elements) - start]):
            return int(start)
    return None


def _with_dim(term: Term, base: Offset, shape: Shape, dim: int) -> View:
    dims = [() if size == 1 else (Digit(size, FREE, 0),) for size in shape]
    dims[dim] = (Digit(shape[dim], 0, 1),)
    return View(term, (base,), tuple(dims))


def element_type(attribute: Attribute) -> str:
    """Return the text of an element type."""
    found = _ELEMENT_TEXTS.get(attribute)
    if found is None:
        found = _ELEMENT_TEXTS[attribute] = str(attribute)
    return found


_ELEMENT_TEXTS: dict[Attribute, str] = {}
