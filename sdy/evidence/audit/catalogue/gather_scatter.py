"""Programs of one gather or scatter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from sdy.evidence.audit.catalogue.text import binary_body, generic, tensor

Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lookup:
    """A gather, or the scatter that writes what it reads; the fields are those of the dimension numbers."""

    operand: Ints
    indices: Ints
    window: Ints  # dims of the gathered tensor that are dims of windows
    collapsed: Ints
    mapped: Ints
    vector_dim: int
    sizes: Ints
    result: Ints
    batching: Ints = ()
    indices_batching: Ints = ()


LOOKUPS = (
    Lookup((4, 3), (2, 1), (1,), (0,), (0,), 1, (1, 3), (2, 3)),
    Lookup((4, 3), (2,), (1,), (0,), (0,), 1, (1, 3), (2, 3)),
    Lookup((4, 3), (1, 2), (0,), (1,), (1,), 0, (4, 1), (4, 2)),
    Lookup((4, 3), (2, 2), (), (0, 1), (0, 1), 1, (1, 1), (2,)),
    Lookup((4, 3), (2, 1), (1, 2), (), (0,), 1, (2, 3), (2, 2, 3)),
    Lookup((4, 3), (2, 1), (1, 2), (), (0,), 1, (1, 3), (2, 1, 3)),
    Lookup((4, 3), (2, 2, 1), (2,), (0,), (0,), 2, (1, 3), (2, 2, 3)),
    Lookup((2, 4, 3), (2, 2, 1), (2,), (1,), (1,), 2, (1, 1, 3), (2, 2, 3), (0,), (0,)),
    Lookup((4, 3), (2, 2), (1, 2), (), (0, 1), 1, (2, 2), (2, 2, 2)),
)


def _gathers() -> Iterator[str]:
    for each in LOOKUPS:
        numbers = (
            f"offset_dims = {list(each.window)}, collapsed_slice_dims = {list(each.collapsed)}, "
            f"operand_batching_dims = {list(each.batching)}, "
            f"start_indices_batching_dims = {list(each.indices_batching)}, "
            f"start_index_map = {list(each.mapped)}, index_vector_dim = {each.vector_dim}"
        )
        attributes = (
            f"dimension_numbers = #stablehlo.gather<{numbers}>, "
            f"slice_sizes = array<i64: {', '.join(map(str, each.sizes))}>, indices_are_sorted = false"
        )
        operands = [tensor(each.operand), tensor(each.indices, "i32")]
        yield generic("stablehlo.gather", operands, [tensor(each.result)], attributes)


def _scatters() -> Iterator[str]:
    for each, op in product(LOOKUPS, ("add", "multiply", "maximum", "subtract")):
        numbers = (
            f"update_window_dims = {list(each.window)}, inserted_window_dims = {list(each.collapsed)}, "
            f"input_batching_dims = {list(each.batching)}, "
            f"scatter_indices_batching_dims = {list(each.indices_batching)}, "
            f"scatter_dims_to_operand_dims = {list(each.mapped)}, index_vector_dim = {each.vector_dim}"
        )
        attributes = f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>"
        operands = [tensor(each.operand), tensor(each.indices, "i32"), tensor(each.result)]
        yield generic("stablehlo.scatter", operands, [tensor(each.operand)], attributes, binary_body(op))


PROGRAMS = (_gathers, _scatters)
