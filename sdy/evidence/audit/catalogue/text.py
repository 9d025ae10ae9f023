"""The text of programs of one op."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MATRICES = ((4,), (2, 3), (3, 2), (2, 1, 4))  # shapes for ops that treat all dims alike


def tensor(shape: Iterable[int], element: str = "f32") -> str:
    """Return the type of a tensor.

    >>> tensor((2, 3)), tensor((), "i1")
    ('tensor<2x3xf32>', 'tensor<i1>')
    """
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def array(numbers: Iterable[int]) -> str:
    """Return an array attribute of 64-bit integers."""
    listed = ", ".join(map(str, numbers))
    return f"array<i64: {listed}>" if listed else "array<i64>"


def ints(name: str, numbers: Iterable[int]) -> str:
    """Return a property that is an array of 64-bit integers."""
    return f"{name} = {array(numbers)}"


def program(lines: str, *arguments: str) -> str:
    """Return a program whose arguments `%a`, `%b`, ... have these types."""
    named = ", ".join(f"%{'abcdefgh'[index]}: {each}" for index, each in enumerate(arguments))
    return f"func.func @main({named}) {{\n  {lines}\n  return\n}}\n"


def generic(name: str, operands: Sequence[str], results: Sequence[str], attributes: str = "", body: str = "") -> str:
    """Return a program of one op in generic syntax, whose operands are arguments of these types."""
    names = ", ".join(f"%{'abcdefgh'[index]}" for index in range(len(operands)))
    properties = f" <{{{attributes}}}>" if attributes else ""
    count = f":{len(results)}" if len(results) > 1 else ""
    types = f"({', '.join(operands)}) -> ({', '.join(results)})"
    return program(f'%r{count} = "{name}"({names}){properties} {body} : {types}', *operands)


def binary_body(op: str, element: str = "f32") -> str:
    """Return the body of a reduction by an op with two operands."""
    scalar = tensor((), element)
    return (
        f"({{\n  ^bb0(%x: {scalar}, %y: {scalar}):\n    %z = stablehlo.{op} %x, %y : {scalar}\n"
        f"    stablehlo.return %z : {scalar}\n  }})"
    )
