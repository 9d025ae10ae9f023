"""Programs that extend the ends of sharded dims, as `jnp.pad` does, and add slices of the result: stencils."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

Shape = tuple[int, ...]


class _Writer:
    """Writes ops as text, with a number for each value."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers = count()

    def slice(self, value: str, shape: Shape, dim: int, start: int, end: int) -> tuple[str, Shape]:
        ranges = [(0, size) for size in shape]
        ranges[dim] = start, end
        return self.slice_all(value, shape, ranges)

    def slice_all(self, value: str, shape: Shape, ranges: Sequence[tuple[int, int]]) -> tuple[str, Shape]:
        sizes = tuple(end - start for start, end in ranges)
        text = ", ".join(f"{start}:{end}" for start, end in ranges)
        return self._op(f"stablehlo.slice {value} [{text}] : ({kind(shape)}) -> {kind(sizes)}"), sizes

    def reverse(self, value: str, shape: Shape, dim: int) -> tuple[str, Shape]:
        return self._op(f"stablehlo.reverse {value}, dims = [{dim}] : {kind(shape)}"), shape

    def repeat(self, value: str, shape: Shape, dim: int, times: int) -> tuple[str, Shape]:
        """Repeat the only element of a dim, as `jnp.pad` does: along a new dim that is then merged with it."""
        wide = (*shape[: dim + 1], times, *shape[dim + 1 :])
        dims = [each for each in range(len(wide)) if each != dim + 1]
        found = (*shape[:dim], times, *shape[dim + 1 :])
        repeated = self._op(f"stablehlo.broadcast_in_dim {value}, dims = {dims} : ({kind(shape)}) -> {kind(wide)}")
        return self._op(f"stablehlo.reshape {repeated} : ({kind(wide)}) -> {kind(found)}"), found

    def concatenate(self, parts: Sequence[tuple[str, Shape]], dim: int) -> tuple[str, Shape]:
        shape = parts[0][1]
        sizes = (*shape[:dim], sum(each[dim] for _, each in parts), *shape[dim + 1 :])
        values, kinds = ", ".join(value for value, _ in parts), ", ".join(kind(each) for _, each in parts)
        return self._op(f"stablehlo.concatenate {values}, dim = {dim} : ({kinds}) -> {kind(sizes)}"), sizes

    def add(self, one: str, other: str, shape: Shape) -> str:
        return self._op(f"stablehlo.add {one}, {other} : {kind(shape)}")

    def _op(self, text: str) -> str:
        name = f"%{next(self._numbers)}"
        self.lines.append(f"  {name} = {text}")
        return name


def kind(shape: Shape) -> str:
    """Return the type of a tensor."""
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def stencil(mode: str, shape: Shape, dims: Sequence[int], points: Sequence[Shape], sharding: str, mesh: str) -> str:
    """Return a program that adds the elements at some distances from each element of a tensor.

    Beyond the ends of `dims` are, by mode, the elements from the other end ("wrap"), those of the end ("edge"), or
    those next to the end in reverse ("reflect"). The argument and the result have the sharding.
    """
    write, width = _Writer(), max(abs(each) for point in points for each in point)
    padded: tuple[str, Shape] = "%a", shape
    for dim in dims:
        padded = _extended(write, mode, padded, dim, width)
    total = ""
    for point in points:
        starts = [width + each if dim in dims else 0 for dim, each in enumerate(point)]
        ranges = [(start, start + size) for start, size in zip(starts, shape, strict=True)]
        value, _ = write.slice_all(*padded, ranges)
        total = write.add(total, value, shape) if total else value
    attribute = f"{{sdy.sharding = #sdy.sharding<@m, {sharding}>}}"
    body = "\n".join(write.lines)
    return f"""
sdy.mesh @m = {mesh}
func.func @main(%a: {kind(shape)} {attribute}) -> ({kind(shape)} {attribute}) {{
{body}
  return {total} : {kind(shape)}
}}"""


def _extended(write: _Writer, mode: str, value: tuple[str, Shape], dim: int, width: int) -> tuple[str, Shape]:
    name, shape = value
    size = shape[dim]
    match mode:
        case "wrap":
            before, after = (
                write.slice(name, shape, dim, size - width, size),
                write.slice(name, shape, dim, 0, width),
            )
        case "edge":
            first, last = write.slice(name, shape, dim, 0, 1), write.slice(name, shape, dim, size - 1, size)
            before, after = (write.repeat(*each, dim, width) for each in (first, last))
        case _:
            first = write.slice(name, shape, dim, 1, width + 1)
            last = write.slice(name, shape, dim, size - width - 1, size - 1)
            before, after = (write.reverse(*each, dim) for each in (first, last))
    return write.concatenate([before, value, after], dim)
