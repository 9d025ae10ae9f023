"""Draw programs of one op that moves or selects elements."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from sdy.interpreter.arrays.element_types import dtype_of
from support.random_ops.draft import (
    ALL,
    ELEMENTS,
    FLOATS,
    INTEGERS,
    NUMBERS,
    Draft,
    array,
    region,
    tensor,
)


def shape_ops(draft: Draft) -> None:
    element, shape = draft.pick(*ALL), draft.shape(1, 4)
    operand, kind, rank = draft.tensor(shape, element), tensor(shape, element), len(shape)
    match draft.pick("transpose", "reverse", "reshape", "broadcast_in_dim", "iota"):
        case "transpose":
            order = [int(dim) for dim in draft.random.permutation(rank)]
            result = tensor([shape[dim] for dim in order], element)
            draft.op(f"stablehlo.transpose {operand}, dims = {order} : ({kind}) -> {result}", result)
        case "reverse":
            dims = [dim for dim in range(rank) if draft.random.random() < 0.5]
            draft.op(f"stablehlo.reverse {operand}, dims = {dims} : {kind}", kind)
        case "reshape":
            result = tensor((*shape[:-2], int(np.prod(shape[-2:]))), element)
            draft.op(f"stablehlo.reshape {operand} : ({kind}) -> {result}", result)
        case "broadcast_in_dim":
            dims = sorted(int(dim) for dim in draft.random.choice(rank + 2, rank, replace=False))
            sizes = [draft.size() for _ in range(rank + 2)]
            for dim, size in zip(dims, shape, strict=True):
                sizes[dim] = size if size != 1 else sizes[dim]
            result = tensor(sizes, element)
            draft.op(f"stablehlo.broadcast_in_dim {operand}, dims = {dims} : ({kind}) -> {result}", result)
        case _:
            of = tensor(shape, draft.pick(*NUMBERS))
            draft.op(f"stablehlo.iota dim = {draft.size(0, rank)} : {of}", of)


def slicing(draft: Draft) -> None:
    element, shape = draft.pick(*ALL), draft.filled_shape(1, 4)
    operand, kind = draft.tensor(shape, element), tensor(shape, element)
    match draft.pick("slice", "dynamic_slice", "dynamic_update_slice", "pad", "concatenate"):
        case "slice":
            starts = [draft.size(0, size) for size in shape]
            limits = [draft.size(start, size + 1) for start, size in zip(starts, shape, strict=True)]
            steps = [draft.size(1, 4) for _ in shape]
            ranges = list(zip(starts, limits, steps, strict=True))
            result = tensor([-((start - limit) // step) for start, limit, step in ranges], element)
            text = ", ".join(f"{start}:{limit}:{step}" for start, limit, step in ranges)
            draft.op(f"stablehlo.slice {operand} [{text}] : ({kind}) -> {result}", result)
        case "dynamic_slice":
            sizes = [draft.size(1, size + 1) for size in shape]
            starts = [draft.constant(np.array(draft.size(-3, size + 3), np.int32), "i32") for size in shape]
            scalars, result = ", ".join(["tensor<i32>"] * len(shape)), tensor(sizes, element)
            operands = ", ".join([operand, *starts])
            draft.op(f"stablehlo.dynamic_slice {operands}, sizes = {sizes} : ({kind}, {scalars}) -> {result}", result)
        case "dynamic_update_slice":
            sizes = [draft.size(1, size + 1) for size in shape]
            starts = [draft.constant(np.array(draft.size(-3, size + 3), np.int64), "i64") for size in shape]
            scalars = ", ".join(["tensor<i64>"] * len(shape))
            operands = ", ".join([operand, draft.tensor(sizes, element), *starts])
            types = f"({kind}, {tensor(sizes, element)}, {scalars}) -> {kind}"
            draft.op(f"stablehlo.dynamic_update_slice {operands} : {types}", kind)
        case "pad":
            gaps = [draft.size(0, 3) for _ in shape]
            low, high = ([draft.size(-1, 3) for _ in shape] for _ in range(2))
            spread = [size + (size - 1) * gap for size, gap in zip(shape, gaps, strict=True)]
            high = [max(after, -size - before) for size, before, after in zip(spread, low, high, strict=True)]
            result = tensor([sum(each) for each in zip(low, spread, high, strict=True)], element)
            value = draft.tensor((), element)
            amounts = f"low = {low}, high = {high}, interior = {gaps}"
            types = f"({kind}, {tensor((), element)}) -> {result}"
            draft.op(f"stablehlo.pad {operand}, {value}, {amounts} : {types}", result)
        case _:
            dim = draft.size(0, len(shape))
            other = [draft.size() if index == dim else size for index, size in enumerate(shape)]
            joined = [size + (other[dim] if index == dim else 0) for index, size in enumerate(shape)]
            second, result = draft.tensor(other, element), tensor(joined, element)
            types = f"({kind}, {tensor(other, element)}) -> {result}"
            draft.op(f"stablehlo.concatenate {operand}, {second}, dim = {dim} : {types}", result)


@dataclass(frozen=True)
class _StartPositions:
    """Start positions of slices of a tensor: the indexed dims and the shape of the indices."""

    mapped: list[int]
    batching: list[int]  # dims of the operand, of which each position has indices of its own
    indices_batching: list[int]
    index_shape: tuple[int, ...]  # without the dim of the index vector
    vector_dim: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the indices."""
        before, after = self.index_shape[: self.vector_dim], self.index_shape[self.vector_dim :]
        return (*before, len(self.mapped), *after)


def _start_positions(draft: Draft, shape: tuple[int, ...]) -> _StartPositions:
    order = [int(dim) for dim in draft.random.permutation(len(shape))]
    batching = sorted(order[: draft.size(0, 2)])
    others = [dim for dim in order if dim not in batching]
    sizes = [*draft.shape(0, 3)]
    positions = sorted(
        int(position) for position in draft.random.choice(len(sizes) + len(batching), len(batching), replace=False)
    )
    for position, dim in zip(positions, batching, strict=True):
        sizes.insert(position, shape[dim])
    vector_dim = draft.size(0, len(sizes) + 1)
    return _StartPositions(
        mapped=others[: draft.size(0, len(others) + 1)],
        batching=batching,
        indices_batching=[position + (position >= vector_dim) for position in positions],
        index_shape=tuple(sizes),
        vector_dim=vector_dim,
    )


def gather(draft: Draft) -> None:
    """Add a gather at indices, some of which are out of range; at times its slice sizes are an operand."""
    shape, element = draft.filled_shape(1, 4), draft.pick(*ALL)
    rank, starts = len(shape), _start_positions(draft, shape)
    collapsed = sorted(dim for dim in range(rank) if dim not in starts.batching and draft.random.random() < 0.4)
    removed = [*collapsed, *starts.batching]
    sizes = [1 if dim in removed else draft.size(1, size + 1) for dim, size in enumerate(shape)]
    indices = draft.constant(draft.random.integers(-2, 6, starts.shape).astype(np.int64), "i64")
    window = [size for dim, size in enumerate(sizes) if dim not in removed]
    result_rank = len(starts.index_shape) + len(window)
    offset = sorted(int(dim) for dim in draft.random.choice(result_rank, len(window), replace=False)) if window else []
    window_sizes, index_sizes = iter(window), iter(starts.index_shape)
    result = tensor([next(window_sizes if dim in offset else index_sizes) for dim in range(result_rank)], element)
    numbers = (
        f"offset_dims = {offset}, collapsed_slice_dims = {collapsed}, operand_batching_dims = {starts.batching}, "
        f"start_indices_batching_dims = {starts.indices_batching}, start_index_map = {starts.mapped}, "
        f"index_vector_dim = {starts.vector_dim}"
    )
    operand = draft.tensor(shape, element)
    types = f"{tensor(shape, element)}, {tensor(starts.shape, 'i64')}"
    if draft.random.random() < 0.5:
        attributes = f"<{{dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = {array(sizes)}}}>"
        draft.op(f'"stablehlo.gather"({operand}, {indices}) {attributes} : ({types}) -> {result}', result)
        return
    amounts = draft.sizes(np.array(sizes, np.int64))
    attributes = f"<{{dimension_numbers = #stablehlo.gather<{numbers}>}}>"
    text = f'"stablehlo.dynamic_gather"({operand}, {indices}, {amounts}) {attributes}'
    draft.op(f"{text} : ({types}, {tensor((rank,), 'i64')}) -> {result}", result)


def scatter(draft: Draft) -> None:
    """Add a scatter at indices, some of which are out of range or equal."""
    shape, element = draft.filled_shape(1, 4), draft.pick("i1", *NUMBERS)
    rank, starts = len(shape), _start_positions(draft, shape)
    inserted = sorted(dim for dim in range(rank) if dim not in starts.batching and draft.random.random() < 0.4)
    removed = [*inserted, *starts.batching]
    sizes = [draft.size(1, size + 1) for dim, size in enumerate(shape) if dim not in removed]
    indices = draft.constant(draft.random.integers(-1, 5, starts.shape).astype(np.int32), "i32")
    update_rank = len(starts.index_shape) + len(sizes)
    window = sorted(int(dim) for dim in draft.random.choice(update_rank, len(sizes), replace=False)) if sizes else []
    window_sizes, index_sizes = iter(sizes), iter(starts.index_shape)
    update_shape = [next(window_sizes if dim in window else index_sizes) for dim in range(update_rank)]
    numbers = (
        f"update_window_dims = {window}, inserted_window_dims = {inserted}, input_batching_dims = {starts.batching}, "
        f"scatter_indices_batching_dims = {starts.indices_batching}, "
        f"scatter_dims_to_operand_dims = {starts.mapped}, index_vector_dim = {starts.vector_dim}"
    )
    base, updates = draft.numbers(shape, element), draft.numbers(update_shape, element)
    operands = f"{base}, {indices}, {updates}"
    body = draft.pick("stablehlo.add %a, %b", "stablehlo.maximum %a, %b", "stablehlo.subtract %a, %b", "keep")
    body = body.replace("subtract", "xor") if element == "i1" else body
    if "add" in body or "subtract" in body:
        draft.adds(1 + prod(starts.index_shape), element, base, updates)
    code = region(element, body) if body != "keep" else _second(element)
    kind = tensor(shape, element)
    types = f"({kind}, {tensor(starts.shape, 'i32')}, {tensor(update_shape, element)}) -> {kind}"
    attributes = f"<{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}>"
    draft.op(f'"stablehlo.scatter"({operands}) {attributes} {code} : {types}', kind)


def _second(element: str) -> str:
    scalar = tensor((), element)
    return f"({{\n  ^bb0(%a: {scalar}, %b: {scalar}):\n    stablehlo.return %b : {scalar}\n  }})"


def sort(draft: Draft) -> None:
    element, shape = draft.pick("i1", *INTEGERS, *FLOATS), draft.shape(1, 3)
    dim, direction = draft.size(0, len(shape)), draft.pick("LT", "GT")
    small = draft.random.integers(0, 7, shape).astype(np.int8)  # so that some are equal, and stability shows
    keys = draft.constant(small.astype(dtype_of(ELEMENTS[element])), element)
    numbers = draft.constant(np.arange(prod(shape), dtype=np.int32).reshape(shape), "i32")
    scalar, kinds = tensor((), element), (tensor(shape, element), tensor(shape, "i32"))
    # Behind another op, the comparison is not recognised, and the network sorts.
    hidden = draft.random.random() < 0.5
    body = f"""({{
  ^bb0(%a: {scalar}, %b: {scalar}, %c: tensor<i32>, %d: tensor<i32>):
    %0 = stablehlo.compare {direction}, %a, %b : ({scalar}, {scalar}) -> tensor<i1>
    %1 = stablehlo.and %0, %0 : tensor<i1>
    stablehlo.return {"%1" if hidden else "%0"} : tensor<i1>
  }})"""
    attributes = f"<{{dimension = {dim} : i64, is_stable = true}}>"
    types = ", ".join(kinds)
    draft.op(f'"stablehlo.sort"({keys}, {numbers}) {attributes} {body} : ({types}) -> ({types})', *kinds)
