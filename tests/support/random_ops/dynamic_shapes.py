"""Draw programs of one op whose shape is an operand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from support.random_ops.draft import ALL, NUMBERS, Draft, tensor


def _sizes(draft: Draft, sizes: Sequence[int]) -> tuple[str, str]:
    """Add a constant; return its name and its type."""
    element = draft.pick("i32", "i64")
    name = draft.sizes(np.array(sizes, np.int32 if element == "i32" else np.int64), element)
    return name, draft.types[name]


def dynamic_shape(draft: Draft) -> None:
    """Add an iota, a reshape, a broadcast, a padding, or the size of a dim."""
    element, shape = draft.pick(*ALL), draft.shape(1, 4)
    operand, kind, rank = draft.tensor(shape, element), tensor(shape, element), len(shape)
    match draft.pick("dynamic_iota", "dynamic_reshape", "dynamic_broadcast_in_dim", "dynamic_pad", "size"):
        case "dynamic_iota":
            result = tensor(shape, draft.pick(*NUMBERS))
            sizes, of = _sizes(draft, shape)
            draft.op(f"stablehlo.dynamic_iota {sizes}, dim = {draft.size(0, rank)} : ({of}) -> {result}", result)
        case "dynamic_reshape":
            sizes, of = _sizes(draft, shape[::-1])
            result = tensor(shape[::-1], element)
            draft.op(f"stablehlo.dynamic_reshape {operand}, {sizes} : ({kind}, {of}) -> {result}", result)
        case "dynamic_broadcast_in_dim":
            target = (draft.size(), *shape)
            sizes, of = _sizes(draft, target)
            dims, result = list(range(1, rank + 1)), tensor(target, element)
            text = f"stablehlo.dynamic_broadcast_in_dim {operand}, {sizes}, dims = {dims}"
            draft.op(f"{text} : ({kind}, {of}) -> {result}", result)
        case "dynamic_pad":
            gaps, low, high = ([draft.size(0, 3) for _ in shape] for _ in range(3))
            spread = [size + max(size - 1, 0) * gap for size, gap in zip(shape, gaps, strict=True)]
            result = tensor([sum(each) for each in zip(low, spread, high, strict=True)], element)
            amounts = [draft.sizes(np.array(each, np.int64)) for each in (low, high, gaps)]
            value, of = draft.tensor((), element), tensor((rank,), "i64")
            text = f"stablehlo.dynamic_pad {operand}, {value}, {', '.join(amounts)}"
            draft.op(f"{text} : ({kind}, {tensor((), element)}, {of}, {of}, {of}) -> {result}", result)
        case _:
            text = f"stablehlo.get_dimension_size {operand}, dim = {draft.size(0, rank)}"
            draft.op(f"{text} : ({kind}) -> tensor<i32>", "tensor<i32>")
