"""Programs of one op with indices at and beyond the bounds of its operand, of every integer type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from sdy.interpreter.arrays.element_types import Array, dtype_of
from support.random_ops.draft import ELEMENTS, array, tensor

MESH = 'sdy.mesh @m = <["x"=2, "y"=3]>'
DIM_SHARDINGS = ("", '"x"', '"y"', '"x", "y"')
INDEX_TYPES = {name: (int(name.strip("ui")), name.startswith("u")) for name in ELEMENTS if name.strip("ui").isdigit()}
INDEX_TYPES.pop("i1")
OPS = ("gather", "scatter", "dynamic_slice", "dynamic_update_slice")
SIZES = (4, 6, 7, 12, 140, 300)  # some do not divide, some are larger than the largest index of 8 bits


@dataclass(frozen=True, slots=True)
class IndexedOp:
    """An op that reads or writes windows of `sizes` of an operand; each row of `starts` is one index vector."""

    op: str
    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    drops_unit_dims: bool
    combiner: str
    element: str
    starts: tuple[tuple[int, ...], ...]

    @property
    def kept(self) -> list[int]:
        """The dims of the operand that windows have too."""
        return [dim for dim, size in enumerate(self.sizes) if size > 1 or not self.drops_unit_dims]

    @property
    def windows(self) -> tuple[int, ...]:
        """The shape of all windows: those of a gather or scatter have their numbers along the last dim."""
        if self.op.startswith("dynamic"):
            return self.sizes
        return (*(self.sizes[dim] for dim in self.kept), len(self.starts))

    def inputs(self) -> list[Array]:
        """Return the operand, the updates if the op has any, and the indices."""
        shapes = [self.shape, self.windows] if self.op in ("scatter", "dynamic_update_slice") else [self.shape]
        values = [np.arange(1, 1 + int(np.prod(shape)), dtype=np.int32).reshape(shape) for shape in shapes]
        values[1:] = [-update for update in values[1:]]
        indices = np.array(self.starts, object).astype(dtype_of(ELEMENTS[self.element]))
        return [*values, *(indices[0] if self.op.startswith("dynamic") else [indices])]

    def shapes(self) -> list[tuple[int, ...]]:
        """Return the shape of each input, then that of the result."""
        result = self.shape if self.op in ("scatter", "dynamic_update_slice") else self.windows
        return [*(value.shape for value in self.inputs()), result]

    def types(self) -> list[str]:
        """Return the type of each input, then that of the result."""
        index_count = len(self.shape) if self.op.startswith("dynamic") else 1
        shapes = self.shapes()
        elements = ["i32"] * (len(shapes) - 1 - index_count) + [self.element] * index_count + ["i32"]
        return [tensor(shape, element) for shape, element in zip(shapes, elements, strict=True)]

    def text(self, shardings: Sequence[str]) -> str:
        """Return the program; `shardings` has the sharding of each input and of the result."""
        types = self.types()
        typed = [
            f"{kind} {{sdy.sharding = #sdy.sharding<@m, {sharding}>}}"
            for kind, sharding in zip(types, shardings, strict=True)
        ]
        names = [f"%arg{index}" for index in range(len(types) - 1)]
        head = ", ".join(f"{name}: {each}" for name, each in zip(names, typed[:-1], strict=True))
        lines = [f"func.func @main({head}) -> ({typed[-1]}) {{", f"  %0 = {self._op_text(names, types)}"]
        return "\n".join([MESH, *lines, f"  return %0 : {types[-1]}", "}", ""])

    def unsharded_text(self) -> str:
        """Return the program without mesh and shardings."""
        return re.sub(r" \{sdy\.sharding[^}]*\}|sdy\.mesh.*\n", "", self.text(["[]"] * len(self.types())))

    def _op_text(self, names: Sequence[str], types: Sequence[str]) -> str:
        signature = f"({', '.join(types[:-1])}) -> {types[-1]}"
        dropped, every = [dim for dim in range(len(self.shape)) if dim not in self.kept], list(range(len(self.shape)))
        match self.op:
            case "dynamic_slice":
                return f"stablehlo.dynamic_slice {', '.join(names)}, sizes = {list(self.sizes)} : {signature}"
            case "dynamic_update_slice":
                return f"stablehlo.dynamic_update_slice {', '.join(names)} : {signature}"
            case "gather":
                numbers = (
                    f"offset_dims = {list(range(len(self.kept)))}, collapsed_slice_dims = {dropped}, "
                    f"start_index_map = {every}, index_vector_dim = 1"
                )
                properties = f"dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = {array(self.sizes)}"
                return f'"stablehlo.gather"({", ".join(names)}) <{{{properties}}}> : {signature}'
            case _:
                operand, updates, indices = names
                kinds = f"({types[0]}, {types[2]}, {types[1]}) -> {types[-1]}"
                numbers = (
                    f"update_window_dims = {list(range(len(self.kept)))}, inserted_window_dims = {dropped}, "
                    f"scatter_dims_to_operand_dims = {every}, index_vector_dim = 1"
                )
                return (
                    f'"stablehlo.scatter"({operand}, {indices}, {updates}) '
                    f"<{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}> ({{\n"
                    f"  ^bb0(%p: tensor<i32>, %q: tensor<i32>):\n"
                    f"    %s = stablehlo.{self.combiner} %p, %q : tensor<i32>\n"
                    f"    stablehlo.return %s : tensor<i32>\n  }}) : {kinds}"
                )


@st.composite
def indexed_ops(draw: st.DrawFn, op: str) -> IndexedOp:
    """Draw an op whose indices are the least and the largest of their type, and those near the bounds of each dim."""
    element = draw(st.sampled_from(sorted(INDEX_TYPES)))
    width, is_unsigned = INDEX_TYPES[element]
    least, largest = (0, 2**width - 1) if is_unsigned else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    shape = (draw(st.sampled_from(SIZES)), *draw(st.lists(st.sampled_from((1, 4, 6)), max_size=1)))
    sizes = tuple(draw(st.sampled_from((1, min(2, size), (size + 1) // 2, size // 2 + 1, size))) for size in shape)

    def start(dim: int) -> st.SearchStrategy[int]:
        size, window = shape[dim], sizes[dim]
        bounds = (0, size // 2, size - window, size, -window)
        near = {each + step for each in bounds for step in (-1, 0, 1)}
        extremes = (least, least + 1, largest - 1, largest)
        return st.sampled_from(extremes) | st.sampled_from(sorted(each for each in near if least <= each <= largest))

    vectors = st.tuples(*(start(dim) for dim in range(len(shape))))
    count = 1 if op.startswith("dynamic") else draw(st.integers(1, 8))
    return IndexedOp(
        op,
        shape,
        sizes,
        draw(st.booleans()),
        draw(st.sampled_from(("add", "minimum"))),
        element,
        tuple(draw(st.lists(vectors, min_size=count, max_size=count))),
    )


@st.composite
def dim_shardings(draw: st.DrawFn, rank: int) -> str:
    """Draw the sharding of a tensor in which every axis is used at most once."""
    free = {'"x"', '"y"'}
    dims: list[str] = []
    for _ in range(rank):
        axes = draw(st.sampled_from([each for each in DIM_SHARDINGS if {*filter(None, each.split(", "))} <= free]))
        free -= {*axes.split(", ")}
        dims.append(f"{{{axes}}}")
    return f"[{', '.join(dims)}]"
