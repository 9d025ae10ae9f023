"""Kernels of `reduce` and `map`, and the reduction of elements by the region of an op, which other ops share.

A region that is a known function is one NumPy call. StableHLO leaves the order of reduction open, as long as adjacent
elements stay adjacent. By other regions, few elements are reduced in order, as by the reference interpreter, since the
order can affect rounding; many as a tree, which is faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.ir import Block, Operation

from sdy.dialects.facts.traits import combiners_of
from sdy.dialects.stablehlo import control, reduction
from sdy.dialects.stablehlo import elementwise as ops
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.interpreter.arrays.element_types import (
    Array,
    DType,
    compute_dtype,
    dtype_of_type,
    exact_dtype,
    is_bool,
    is_integer,
)
from sdy.interpreter.arrays.extremes import with_signs_of_zeros
from sdy.interpreter.arrays.field_types import is_field
from sdy.interpreter.devices.grid import IntArray
from sdy.interpreter.field.folds import FieldFold
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, field_of, with_unit_dims
from sdy.interpreter.ops import arithmetic
from sdy.interpreter.ops.arithmetic import Compute
from sdy.interpreter.ops.conversion import converted
from sdy.model.shape import StaticShape

MAX_IN_ORDER = 64  # elements that are reduced one after another


@dataclass(frozen=True, slots=True)
class Fold:
    """A function of two elements by which NumPy can reduce a dim in one call."""

    combine: Compute
    ufunc: np.ufunc

    def reduced(self, array: Array, axes: StaticShape) -> Array:
        """Reduce the elements along `axes`, of which there is at least one. Sums accumulate in a wider dtype."""
        dtype = array.dtype
        wide = exact_dtype(dtype) if self.ufunc in (np.add, np.multiply) else compute_dtype(dtype)
        if wide.itemsize > dtype.itemsize and not _numpy_casts(dtype):
            array = array.astype(wide)
        if self.ufunc is np.add and wide.kind in "fc":
            # NumPy starts from 0.0, which would turn a sum of -0.0 into 0.0.
            total = np.add.reduce(array, axis=axes, dtype=wide, initial=_MINUS_ZERO[wide.kind])
            return np.asarray(total).astype(dtype, copy=False)
        found = np.asarray(self.ufunc.reduce(array, axis=axes, dtype=wide)).astype(dtype, copy=False)
        return with_signs_of_zeros(self.ufunc, found, array, lambda mask: np.any(mask, axis=axes))

    def fold_into(self, array: Array, targets: IntArray, update: Array, firsts: IntArray) -> None:
        """Combine the rows `update`, sorted by their row of `array`, `targets`, into `array`.

        `firsts` has the first update of each row.
        """
        if self.ufunc in (np.add, np.multiply) and not is_integer(array.dtype):
            # Rounding depends on the order: add one update after another, as the reference interpreter does.
            size = array.shape[1]
            elements = targets[:, np.newaxis] * size + np.arange(size, dtype=np.int64)
            self.ufunc.at(array.reshape(-1), elements.reshape(-1), update.reshape(-1))
            return
        rows = targets[firsts]
        array[rows] = self.combine(array[rows], self._reduced_runs(update, firsts))

    def _reduced_runs(self, array: Array, firsts: IntArray) -> Array:
        """Reduce each run of rows, which begin at `firsts`, to one row."""
        found = self.ufunc.reduceat(array.astype(compute_dtype(array.dtype)), firsts, axis=0).astype(array.dtype)
        return with_signs_of_zeros(self.ufunc, found, array, lambda mask: np.logical_or.reduceat(mask, firsts, axis=0))


_MINUS_ZERO = {"f": -0.0, "c": complex(-0.0, -0.0)}

# NumPy's functions of the combiners.
FOLDS: dict[type[Operation], Fold] = {
    ops.AddOp: Fold(arithmetic.add, np.add),
    ops.MultiplyOp: Fold(arithmetic.multiply, np.multiply),
    ops.MaximumOp: Fold(arithmetic.maximum, np.maximum),
    ops.MinimumOp: Fold(arithmetic.minimum, np.minimum),
    ops.AndOp: Fold(arithmetic.bitwise_and, np.bitwise_and),
    ops.OrOp: Fold(arithmetic.bitwise_or, np.bitwise_or),
    ops.XorOp: Fold(arithmetic.bitwise_xor, np.bitwise_xor),
}


AnyFold = Fold | FieldFold


class Reducer:
    """The region of a reduction: its block takes N accumulated and N new elements, and returns N."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.count = len(block.args) // 2
        self.dtypes = tuple(dtype_of_type(argument.type) for argument in block.args[: self.count])
        self.combiners = tuple(combiners_of(block) or ())

    def folds(self, context: KernelContext) -> tuple[AnyFold, ...] | None:
        """Return one known function per result if the region consists of these only, else None."""
        if not self.combiners or any(each not in FOLDS for each in self.combiners):
            return None
        pairs = zip(self.combiners, self.dtypes, strict=True)
        return tuple(FieldFold(field_of(context), each) if is_field(dtype) else FOLDS[each] for each, dtype in pairs)

    def combined(self, context: KernelContext, lhs: Arrays, rhs: Arrays, captured: Arrays) -> Arrays:
        """Apply the region elementwise to `lhs` and `rhs`, all of one local shape."""
        folds = self.folds(context)
        if folds is not None:
            return tuple(np.asarray(fold.combine(*pair)) for fold, *pair in zip(folds, lhs, rhs, strict=True))
        sizes = context.local(lhs[0])
        inner = context.with_elements(sizes)
        outer = tuple(with_unit_dims(context, value, len(sizes)) for value in captured)
        results = context.runner.run_block(inner, self.block, (*lhs, *rhs), outer)
        return tuple(np.broadcast_to(result, context.leading(result) + sizes) for result in results)

    def fold(
        self, context: KernelContext, inputs: Arrays, inits: Arrays, dims: StaticShape, captured: Arrays
    ) -> Arrays:
        """Reduce the inputs along `dims`, starting from the scalars `inits`."""
        local = context.local(inputs[0])
        kept = tuple(size for dim, size in enumerate(local) if dim not in dims)
        count = prod(local[dim] for dim in dims)
        if count <= MAX_IN_ORDER and self.folds(context) is None:
            rows = tuple(_with_last_dim(context, array, dims) for array in inputs)
            return self.fold_in_order(context, rows, inits, len(kept), captured)
        starts = self._starts(context, inits, kept)
        if not count:
            return starts
        return self.combined(context, starts, self.folded(context, inputs, dims, captured), captured)

    def fold_in_order(
        self, context: KernelContext, inputs: Arrays, inits: Arrays, kept_rank: int, captured: Arrays
    ) -> Arrays:
        """Reduce along all dims from `kept_rank` on, one element after another: the order can affect rounding."""
        inputs = self._as_accumulated(inputs)
        local = context.local(inputs[0])
        result = self._starts(context, inits, local[:kept_rank])
        for position in np.ndindex(*local[kept_rank:]):
            result = self.combined(context, result, tuple(array[(..., *position)] for array in inputs), captured)
        return result

    def folded(self, context: KernelContext, inputs: Arrays, dims: StaticShape, captured: Arrays) -> Arrays:
        """Reduce the inputs along `dims`, which hold at least one element."""
        inputs = self._as_accumulated(inputs)
        folds = self.folds(context)
        if folds is None:
            return self._tree(context, inputs, dims, captured)
        axes = context.dims(dims)
        return tuple(fold.reduced(array, axes) for fold, array in zip(folds, inputs, strict=True))

    def _tree(self, context: KernelContext, inputs: Arrays, dims: StaticShape, captured: Arrays) -> Arrays:
        """Combine the elements along `dims` pairwise until one is left, all pairs at once."""
        rows = tuple(_with_last_dim(context, array, dims) for array in inputs)
        while (count := rows[0].shape[-1]) > 1:
            even = count - count % 2
            lhs = tuple(row[..., 0:even:2] for row in rows)
            rhs = tuple(row[..., 1:even:2] for row in rows)
            folded = self.combined(context, lhs, rhs, captured)
            rows = tuple(_extended(new, row[..., even:]) for new, row in zip(folded, rows, strict=True))
        return tuple(row[..., 0] for row in rows)

    def _starts(self, context: KernelContext, inits: Arrays, kept: StaticShape) -> Arrays:
        """Return the scalars `inits`, repeated along dims of the sizes `kept`."""
        starts = (with_unit_dims(context, start, len(kept)) for start in self._as_accumulated(inits))
        return tuple(np.broadcast_to(start, context.leading(start) + kept) for start in starts)

    def _as_accumulated(self, arrays: Arrays) -> Arrays:
        """Convert the arrays to the element types of the region."""
        return tuple(converted(array, dtype) for array, dtype in zip(arrays, self.dtypes, strict=True))


def _numpy_casts(dtype: DType) -> bool:
    """Return whether NumPy converts this dtype in blocks while it reduces, so that no wide copy is needed."""
    return is_bool(dtype) or dtype.kind in "fiuc" or not is_integer(dtype)


def _with_last_dim(context: KernelContext, array: Array, dims: StaticShape) -> Array:
    """Return the array with `dims` merged into one last dim."""
    axes = context.dims(dims)
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    count = prod(array.shape[axis] for axis in axes)
    return array.transpose([*kept, *axes]).reshape((*(array.shape[axis] for axis in kept), count))


def _extended(array: Array, last: Array) -> Array:
    """Concatenate `array` and `last` along the last dim, with the other dims broadcast."""
    if not last.shape[-1]:
        return array
    leading = np.broadcast_shapes(array.shape[:-1], last.shape[:-1])
    parts = [np.broadcast_to(part, leading + part.shape[-1:]) for part in (array, last)]
    return np.concatenate(parts, axis=-1)


KERNELS = KernelTable()


@KERNELS.of(reduction.ReduceOp)
def reduce(op: reduction.ReduceOp) -> Kernel:
    """Reduce the inputs along some dims by the body."""
    reducer, dims = Reducer(op.body.block), ints_of(op.dimensions)
    count = reducer.count

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        return reducer.fold(context, arrays[:count], arrays[count : 2 * count], dims, arrays[2 * count :])

    return kernel


@KERNELS.of(control.MapOp)
def apply_to_elements(op: control.MapOp) -> Kernel:
    """Apply the computation elementwise to all inputs."""
    block, count = op.computation.block, len(op.inputs)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        sizes = context.local(arrays[0])
        inner = context.with_elements(sizes)
        captured = tuple(with_unit_dims(context, value, len(sizes)) for value in arrays[count:])
        (result,) = context.runner.run_block(inner, block, arrays[:count], captured)
        return (np.broadcast_to(result, context.leading(result) + sizes),)

    return kernel
