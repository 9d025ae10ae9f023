"""Reducers that select one of their two arguments, as that of an argmax does.

The reducer f of a *selection* has three properties: `f(x, f(y, z)) = f(f(x, y), z)`, `f(x, x) = x`, and
`f(x, f(y, x)) = f(x, y)`. An element that occurs again later then changes nothing. So shards of a dim may each be
reduced, from the initial value on, and what they give reduced in their order.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, Region, SSAValue

from sdy.evidence.proof.contributions import is_float
from sdy.evidence.proof.known import folded
from sdy.evidence.proof.relations import Known
from sdy.evidence.proof.rings import is_integer
from sdy.evidence.proof.walk import element_of, returned_by

MOST_TUPLES = 150  # of arguments that are tried
COMPARING = frozenset(f"stablehlo.{each}" for each in ("compare", "select", "maximum", "minimum"))
LOGICAL = frozenset(f"stablehlo.{each}" for each in ("and", "or", "not", "xor"))


def is_selection(region: Region) -> bool:
    """Return whether the reducer of tuples of values is that of a selection.

    A reducer that only compares and selects depends only on which of its arguments are less than which others, and
    which are NaN. Three tuples have at most three values of a column, so it is enough to try these.
    """
    columns = [element_of(each) for each in region.block.args[: len(region.block.args) // 2]]
    if not all(is_float(each) or is_integer(each) for each in columns) or not _only_compares(region):
        return False
    values = [_values(each, columns.count(each)) for each in columns]
    tuples = np.array(list(product(*values)))
    if len(tuples) > MOST_TUPLES:
        return False
    combined = _combined(region, tuples, columns)
    if combined is None:
        return False
    numbers = np.arange(len(tuples))
    is_associative = (combined[combined[:, :, None], numbers] == combined[numbers[:, None, None], combined]).all()
    is_unchanged = (combined[numbers, numbers] == numbers).all()
    ignores_repetition = (combined[numbers[:, None], combined.T] == combined).all()
    return bool(is_associative and is_unchanged and ignores_repetition)


def _only_compares(region: Region) -> bool:
    """Return whether a region only compares its arguments and selects from them."""
    *ops, terminator = region.block.ops
    own = {*region.block.args, *(result for op in ops for result in op.results)}
    for op in ops:
        is_logical = op.name in LOGICAL and element_of(op.results[0]) == "i1"
        is_total = "TOTALORDER" in str(op.properties.get("compare_type"))
        if is_total or op.regions or not (is_logical or op.name in COMPARING):
            return False
    return all(value in own for op in (*ops, terminator) for value in op.operands)


def _values(element: str, columns: int) -> list[float]:
    """Return values to try, of which three tuples may have different ones in each of the columns of a type."""
    return [*range(3 * columns), *(np.nan,) * is_float(element)]


def _combined(region: Region, tuples: npt.NDArray[np.float64], columns: list[str]) -> npt.NDArray[np.intp] | None:
    """Return, for each two tuples, the number of the tuple that the reducer gives; None if it is not known."""
    count = len(tuples)
    one, other = np.repeat(np.arange(count), count), np.tile(np.arange(count), count)
    known: dict[SSAValue, Known] = {}
    for number, value in enumerate(region.block.args):
        element = _stand_in(element_of(value))
        column = tuples[one if number < len(columns) else other, number % len(columns)]
        known[value] = Known(element, (), None, column.astype(np.float32 if element == "f32" else np.int32)[:, None])
    for op in region.block.ops:
        if op.results:
            found = _folded(op, known)
            if found is None:
                return None
            known[op.results[0]] = found
    found = np.zeros((count * count,), np.intp)
    for number, value in enumerate(returned_by(region)):
        distinct = np.unique(tuples[:, number])  # NaN last
        rows = np.broadcast_to(known[value].rows[:, 0], found.shape)
        found = found * len(distinct) + np.searchsorted(distinct, rows)
    return found.reshape(count, count)


def _folded(op: Operation, known: dict[SSAValue, Known]) -> Known | None:
    return folded(op, [known[each] for each in op.operands], (), _stand_in(element_of(op.results[0])))


def _stand_in(element: str) -> str:
    """Return the type whose values are tried for those of another type: only their order matters."""
    return "f32" if is_float(element) else "i32" if is_integer(element) else element
