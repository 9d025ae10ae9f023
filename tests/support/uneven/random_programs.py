"""Draw random programs whose intermediate values are sharded along axes that mostly do not divide the dims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

Sizes = tuple[int, ...]
MESHES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('<["x"=2]>', ("x",)),
    ('<["x"=3]>', ("x",)),
    ('<["x"=4]>', ("x",)),
    ('<["x"=2, "y"=2]>', ("x", "y")),
    ('<["x"=2, "y"=2], device_ids=[2, 0, 3, 1]>', ("x", "y")),
    ('<["x"=4, "y"=2]>', ("x", "y")),
)
LARGEST_RANK = 3
LARGEST_VALUE = 400  # elements; larger values are not used as operands
REDUCERS = {"add": 0, "maximum": -(2**31), "minimum": 2**31 - 1, "multiply": 1}


class UnevenProgram:
    """A program of some ops on `i32` tensors, determined by its seed."""

    def __init__(self, seed: int, *, length: int = 4, reverses: bool = True) -> None:
        self.random = np.random.default_rng([seed, 29])
        mesh, self.axes = MESHES[seed % len(MESHES)]
        self.lines: list[str] = []
        self.values: list[tuple[str, Sizes]] = []
        self.arguments = [self._argument() for _ in range(2)]
        op_writers: list[Callable[[str, Sizes], None]] = [
            self.pad,
            self.slice,
            self.concatenate,
            self.reduce,
            self.dot,
            self.reshape,
            self.negate,
        ]
        if reverses:
            op_writers.append(self.reverse)
        while len(self.lines) < length:
            op_writers[self._below(len(op_writers))](*self._operand())
        self.text = self._module(mesh)

    @property
    def inputs(self) -> list[np.ndarray[Sizes, np.dtype[np.int32]]]:
        """Return random values for the arguments."""
        return [self.random.integers(-9, 10, sizes).astype(np.int32) for sizes in self.arguments]

    def _below(self, limit: int) -> int:
        return int(self.random.integers(limit))

    def _argument(self) -> Sizes:
        sizes = tuple(int(size) for size in self.random.integers(3, 10, 2))
        self.values.append((f"%a{len(self.values)}", sizes))
        return sizes

    def _operand(self) -> tuple[str, Sizes]:
        usable = [value for value in self.values if value[1] and 0 < prod(value[1]) <= LARGEST_VALUE]
        return usable[-1 - min(self._below(2), len(usable) - 1)]

    def _add(self, op: str, sizes: Sizes, types: str, tail: str = "") -> None:
        name = f"%{len(self.values)}"
        self.values.append((name, sizes))
        sharding = self._sharding(sizes)
        attributes = f" {{sdy.sharding = #sdy.sharding_per_value<[{sharding}]>}}" if sharding else ""
        self.lines.append(f"{name} = {op}{attributes} : {types}{tail}")

    def _sharding(self, sizes: Sizes) -> str:
        if not sizes or self.random.random() < 0.15:
            return ""
        dims: list[list[str]] = [[] for _ in sizes]
        for axis in self.random.permutation(list(self.axes)):
            if self.random.random() < 0.85:
                dims[self._below(len(sizes))].append(f'"{axis}"')
        return f"<@m, [{', '.join('{' + ', '.join(axes) + '}' for axes in dims)}]>"

    def _scalar(self, value: int) -> str:
        name = f"%c{len(self.lines)}"
        self.lines.append(f"{name} = stablehlo.constant dense<{value}> : tensor<i32>")
        return name

    # Ops

    def negate(self, name: str, sizes: Sizes) -> None:
        """Add an element-wise op."""
        self._add(f"stablehlo.negate {name}", sizes, _type(sizes))

    def pad(self, name: str, sizes: Sizes) -> None:
        """Add padding with a mostly nonzero value; negative amounts remove elements."""
        low, high = (self.random.integers(-1, 5, len(sizes)).tolist() for _ in range(2))
        interior = (self.random.random(len(sizes)) < 0.25).astype(int).tolist()
        result = tuple(
            max(0, (size - 1) * (gap + 1) + 1) + before + after
            for size, gap, before, after in zip(sizes, interior, low, high, strict=True)
        )
        if min(result) < 1:
            return
        value = self._scalar(self._below(3) - 1)
        self._add(
            f"stablehlo.pad {name}, {value}, low = {low}, high = {high}, interior = {interior}",
            result,
            f"({_type(sizes)}, tensor<i32>) -> {_type(result)}",
        )

    def slice(self, name: str, sizes: Sizes) -> None:
        """Add a slice, at times with stride 2."""
        starts = [self._below(max(1, size // 2)) for size in sizes]
        limits = [start + 1 + self._below(size - start) for start, size in zip(starts, sizes, strict=True)]
        strides = [2 if self.random.random() < 0.15 else 1 for _ in sizes]
        ranges = ", ".join(
            f"{start}:{limit}" + (f":{stride}" if stride > 1 else "")
            for start, limit, stride in zip(starts, limits, strides, strict=True)
        )
        result = tuple(
            -(-(limit - start) // stride) for start, limit, stride in zip(starts, limits, strides, strict=True)
        )
        self._add(f"stablehlo.slice {name} [{ranges}]", result, f"({_type(sizes)}) -> {_type(result)}")

    def concatenate(self, name: str, sizes: Sizes) -> None:
        """Add a concatenation with the value itself or another one that fits."""
        dim = self._below(len(sizes))
        fitting = [other for other in self.values if _fits(other[1], sizes, dim)]
        other, other_sizes = fitting[self._below(len(fitting))]
        result = (*sizes[:dim], sizes[dim] + other_sizes[dim], *sizes[dim + 1 :])
        types = f"({_type(sizes)}, {_type(other_sizes)}) -> {_type(result)}"
        self._add(f"stablehlo.concatenate {name}, {other}, dim = {dim}", result, types)

    def reverse(self, name: str, sizes: Sizes) -> None:
        """Add a reversal of some dims."""
        dims = [dim for dim in range(len(sizes)) if self.random.random() < 0.6]
        if dims:
            self._add(f"stablehlo.reverse {name}, dims = {dims}", sizes, _type(sizes))

    def reduce(self, name: str, sizes: Sizes) -> None:
        """Add a reduction of one dim."""
        reducer = list(REDUCERS)[self._below(len(REDUCERS))]
        dim = self._below(len(sizes))
        result = (*sizes[:dim], *sizes[dim + 1 :])
        value = self._scalar(REDUCERS[reducer])
        self._add(
            f"stablehlo.reduce({name} init: {value}) applies stablehlo.{reducer} across dimensions = [{dim}]",
            result,
            f"({_type(sizes)}, tensor<i32>) -> {_type(result)}",
        )

    def dot(self, name: str, sizes: Sizes) -> None:
        """Add a product that contracts a dim with one of another value."""
        dim = self._below(len(sizes))
        fitting = [other for other in self.values if sizes[dim] in other[1] and len(other[1]) + len(sizes) <= 5]
        if not fitting:
            return
        other, other_sizes = fitting[self._below(len(fitting))]
        other_dim = other_sizes.index(sizes[dim])
        result = tuple(size for at, size in enumerate(sizes) if at != dim)
        result += tuple(size for at, size in enumerate(other_sizes) if at != other_dim)
        self._add(
            f"stablehlo.dot_general {name}, {other}, contracting_dims = [{dim}] x [{other_dim}]",
            result,
            f"({_type(sizes)}, {_type(other_sizes)}) -> {_type(result)}",
        )

    def reshape(self, name: str, sizes: Sizes) -> None:
        """Add a reshape that merges two dims or splits one."""
        major, *others = sizes
        if others and self.random.random() < 0.5:
            result = (major * others[0], *others[1:])
        else:
            divisors = [each for each in range(2, major) if major % each == 0]
            if not divisors or len(sizes) == LARGEST_RANK:
                return
            first = divisors[self._below(len(divisors))]
            result = (first, major // first, *others)
        self._add(f"stablehlo.reshape {name}", result, f"({_type(sizes)}) -> {_type(result)}")

    def _module(self, mesh: str) -> str:
        arguments = ", ".join(f"%a{index}: {_type(sizes)}" for index, sizes in enumerate(self.arguments))
        results = self.values[-2:]
        names, types = ", ".join(name for name, _ in results), ", ".join(_type(sizes) for _, sizes in results)
        body = "\n  ".join([*self.lines, f"return {names} : {types}"])
        return f"sdy.mesh @m = {mesh}\nfunc.func @main({arguments}) -> ({types}) {{\n  {body}\n}}\n"


def _fits(sizes: Sequence[int], other: Sequence[int], dim: int) -> bool:
    return len(sizes) == len(other) and all(
        one == two for at, (one, two) in enumerate(zip(sizes, other, strict=True)) if at != dim
    )


def _type(sizes: Sizes) -> str:
    return f"tensor<{''.join(f'{size}x' for size in sizes)}i32>"
