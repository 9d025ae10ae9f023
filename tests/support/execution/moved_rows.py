"""Programs that slice, pad, concatenate or rotate the rows of a tensor, which are sharded before and after."""

from __future__ import annotations

from collections.abc import Sequence

MESH = '<["x"=4, "y"=2]>'


def sliced(size: int, start: int, end: int, sharding: str, mesh: str = MESH, element: str = "f32") -> str:
    """Return a program that takes the rows from `start` to before `end`."""
    kind, kept = rows(size, element), rows(end - start, element)
    return _program([kind], kept, f"%r = stablehlo.slice %a0 [{start}:{end}, 0:3] : ({kind}) -> {kept}", sharding, mesh)


def padded(size: int, low: int, high: int, sharding: str, mesh: str = MESH, value: str = "7.0") -> str:
    """Return a program that adds rows before and after; it removes some for negative numbers."""
    kind, result = rows(size), rows(size + low + high)
    body = f"""%p = stablehlo.constant dense<{value}> : tensor<f32>
  %r = stablehlo.pad %a0, %p, low = [{low}, 0], high = [{high}, 0], interior = [0, 0]
    : ({kind}, tensor<f32>) -> {result}"""
    return _program([kind], result, body, sharding, mesh)


def concatenated(sizes: Sequence[int], sharding: str) -> str:
    """Return a program that concatenates the rows of several tensors."""
    kinds, result = list(map(rows, sizes)), rows(sum(sizes))
    names = ", ".join(f"%a{number}" for number in range(len(sizes)))
    body = f"%r = stablehlo.concatenate {names}, dim = 0 : ({', '.join(kinds)}) -> {result}"
    return _program(kinds, result, body, sharding, MESH)


def rotated(size: int, distance: int, sharding: str) -> str:
    """Return a program that moves the last `distance` rows to the front."""
    kind, last, first = rows(size), rows(distance), rows(size - distance)
    body = f"""%0 = stablehlo.slice %a0 [{size - distance}:{size}, 0:3] : ({kind}) -> {last}
  %1 = stablehlo.slice %a0 [0:{size - distance}, 0:3] : ({kind}) -> {first}
  %r = stablehlo.concatenate %0, %1, dim = 0 : ({last}, {first}) -> {kind}"""
    return _program([kind], kind, body, sharding, MESH)


def split(size: int, parts: int, sharding: str, mesh: str = MESH) -> str:
    """Return a program that multiplies the parts of the rows, of equal sizes."""
    kind, part = rows(size), rows(size // parts)
    starts = range(0, size, size // parts)
    lines = [f"%p{at} = stablehlo.slice %a0 [{at}:{at + size // parts}, 0:3] : ({kind}) -> {part}" for at in starts]
    names = ["%p0", *(f"%m{at}" for at in starts[1:-1]), "%r"]
    pairs = zip(starts[1:], names, names[1:], strict=False)
    lines += [f"{result} = stablehlo.multiply {before}, %p{at} : {part}" for at, before, result in pairs]
    return _program([kind], part, "\n  ".join(lines), sharding, mesh)


def rows(size: int, element: str = "f32") -> str:
    """Return the type of a number of rows."""
    return f"tensor<{size}x3x{element}>"


def _program(kinds: Sequence[str], result: str, body: str, sharding: str, mesh: str) -> str:
    attribute = f"{{sdy.sharding = #sdy.sharding<@m, {sharding}>}}"
    arguments = ", ".join(f"%a{number}: {kind} {attribute}" for number, kind in enumerate(kinds))
    return f"""
sdy.mesh @m = {mesh}
func.func @main({arguments}) -> ({result} {attribute}) {{
  {body}
  return %r : {result}
}}"""
