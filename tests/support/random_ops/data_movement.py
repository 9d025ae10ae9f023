"""Programs of one op that moves elements, or decides which ones."""

from __future__ import annotations

from math import prod

import numpy as np

from sdy.interpreter.element_types import dtype_of
from support.random_ops.draft import (
    ELEMENTS,
    Draft,
    array,
    region,
    tensor,
)


def shape_ops(draft: Draft) -> None:
    element, shape = draft.pick("i1", "i8", "ui64", "bf16", "f32", "complex<f32>"), draft.shape(1, 4)
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
                sizes[dim] = size if size > 1 else sizes[dim]
            result = tensor(sizes, element)
            draft.op(f"stablehlo.broadcast_in_dim {operand}, dims = {dims} : ({kind}) -> {result}", result)
        case _:
            of = tensor(shape, "f16")
            draft.op(f"stablehlo.iota dim = {draft.size(0, rank)} : {of}", of)


def slicing(draft: Draft) -> None:
    element, shape = draft.pick("i8", "ui32", "f32"), draft.shape(1, 4)
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
            other = [draft.size() if place == dim else size for place, size in enumerate(shape)]
            whole = [size + (other[dim] if place == dim else 0) for place, size in enumerate(shape)]
            second, result = draft.tensor(other, element), tensor(whole, element)
            types = f"({kind}, {tensor(other, element)}) -> {result}"
            draft.op(f"stablehlo.concatenate {operand}, {second}, dim = {dim} : {types}", result)


def gather(draft: Draft) -> None:
    shape, element = draft.shape(1, 4), "i32"
    rank = len(shape)
    mapped = [int(dim) for dim in draft.random.permutation(rank)[: draft.size(0, rank + 1)]]
    collapsed = sorted(dim for dim in range(rank) if draft.random.random() < 0.4)
    sizes = [1 if dim in collapsed else draft.size(1, size + 1) for dim, size in enumerate(shape)]
    index_shape = draft.shape(0, 3)
    vector_dim = draft.size(0, len(index_shape) + 1)
    whole = (*index_shape[:vector_dim], len(mapped), *index_shape[vector_dim:])
    indices = draft.constant(draft.random.integers(-2, 6, whole).astype(np.int64), "i64")
    window = [size for dim, size in enumerate(sizes) if dim not in collapsed]
    result_rank = len(index_shape) + len(window)
    offset = sorted(int(dim) for dim in draft.random.choice(result_rank, len(window), replace=False)) if window else []
    window_sizes, index_sizes = iter(window), iter(index_shape)
    result = tensor([next(window_sizes if dim in offset else index_sizes) for dim in range(result_rank)], element)
    numbers = f"offset_dims = {offset}, collapsed_slice_dims = {collapsed}, start_index_map = {mapped}"
    numbers += f", index_vector_dim = {vector_dim}"
    operand = draft.tensor(shape, element)
    types = f"({tensor(shape, element)}, {tensor(whole, 'i64')}) -> {result}"
    attributes = f"<{{dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = {array(sizes)}}}>"
    draft.op(f'"stablehlo.gather"({operand}, {indices}) {attributes} : {types}', result)


def scatter(draft: Draft) -> None:
    shape, element = draft.shape(1, 4), draft.pick("i32", "ui8", "f32")
    rank = len(shape)
    mapped = [int(dim) for dim in draft.random.permutation(rank)[: draft.size(0, rank + 1)]]
    inserted = sorted(dim for dim in range(rank) if draft.random.random() < 0.4)
    sizes = [draft.size(1, size + 1) for dim, size in enumerate(shape) if dim not in inserted]
    index_shape = draft.shape(0, 3)
    vector_dim = draft.size(0, len(index_shape) + 1)
    whole = (*index_shape[:vector_dim], len(mapped), *index_shape[vector_dim:])
    indices = draft.constant(draft.random.integers(-1, 5, whole).astype(np.int32), "i32")
    update_rank = len(index_shape) + len(sizes)
    window = sorted(int(dim) for dim in draft.random.choice(update_rank, len(sizes), replace=False)) if sizes else []
    window_sizes, index_sizes = iter(sizes), iter(index_shape)
    update_shape = [next(window_sizes if dim in window else index_sizes) for dim in range(update_rank)]
    numbers = f"update_window_dims = {window}, inserted_window_dims = {inserted}"
    numbers += f", scatter_dims_to_operand_dims = {mapped}, index_vector_dim = {vector_dim}"
    operands = f"{draft.numbers(shape, element)}, {indices}, {draft.numbers(update_shape, element)}"
    body = draft.pick("stablehlo.add %a, %b", "stablehlo.maximum %a, %b", "stablehlo.subtract %a, %b", "keep")
    draft.closeness = 1e-6
    code = region(element, body) if body != "keep" else _second(element)
    kind = tensor(shape, element)
    types = f"({kind}, {tensor(whole, 'i32')}, {tensor(update_shape, element)}) -> {kind}"
    attributes = f"<{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}>"
    draft.op(f'"stablehlo.scatter"({operands}) {attributes} {code} : {types}', kind)


def _second(element: str) -> str:
    scalar = tensor((), element)
    return f"({{\n  ^bb0(%a: {scalar}, %b: {scalar}):\n    stablehlo.return %b : {scalar}\n  }})"


def sort(draft: Draft) -> None:
    element, shape = draft.pick("i32", "ui8", "f32"), draft.shape(1, 3)
    dim, direction = draft.size(0, len(shape)), draft.pick("LT", "GT")
    small = draft.random.integers(0, 7, shape)  # so that some are equal, and stability shows
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


def control(draft: Draft) -> None:
    kind = "tensor<3xi32>"
    value, index = draft.tensor((3,), "i32"), draft.constant(np.array(draft.size(-1, 4), np.int32), "i32")
    bodies = ", ".join(
        f"{{\n    %b = stablehlo.{op} {value}, {value} : {kind}\n    stablehlo.return %b : {kind}\n  }}"
        for op in ("add", "multiply", "xor")
    )
    draft.op(f'"stablehlo.case"({index}) ({bodies}) : (tensor<i32>) -> {kind}', kind)
    limit = draft.constant(np.array(draft.size(0, 9), np.int32), "i32")
    text = f"""stablehlo.while(%i = {index}, %s = {value}) : tensor<i32>, {kind}
  cond {{
    %w = stablehlo.compare LT, %i, {limit} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %w : tensor<i1>
  }} do {{
    %n = stablehlo.add %i, {draft.constant(np.array(1, np.int32), "i32")} : tensor<i32>
    %t = stablehlo.add %s, {value} : {kind}
    stablehlo.return %n, %t : tensor<i32>, {kind}
  }}"""
    draft.op(text, "tensor<i32>", kind)
