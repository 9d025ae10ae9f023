"""Random programs that communicate much: products, sums, reductions, transposes and loops of matrices."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

Matrix = tuple[str, tuple[int, int]]  # name and shape

MESHES = ((2, 2, 2), (4, 2), (8,), (2, 3), (2, 2), (4, 4))
SIZES = (24, 48, 48, 96, 96, 20)  # the last one is uneven on most meshes
SPLIT_AXIS = 0.15  # how often a dim is sharded along a part of an axis


@dataclass(slots=True)
class _Draft:
    """A function body under construction."""

    rng: random.Random
    axes: dict[str, int]
    values: list[Matrix] = field(default_factory=list[Matrix])
    lines: list[str] = field(default_factory=list[str])
    arguments: list[str] = field(default_factory=list[str])
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def define(self, text: str, shape: tuple[int, int]) -> Matrix:
        found = self.name(), shape
        self.lines.append(f"{found[0]} = {text}")
        self.values.append(found)
        return found

    def argument(self, shape: tuple[int, int]) -> Matrix:
        name = f"%arg{len(self.arguments)}"
        self.arguments.append(f"{name}: {_type(shape)} {self.sharding(shape)}")
        self.values.append((name, shape))
        return name, shape

    def sharding(self, shape: Sequence[int]) -> str:
        dims: list[list[str]] = [[] for _ in shape]
        left = list(shape)
        for axis in self.rng.sample([*self.axes], len(self.axes)):
            dim, size = self.rng.randrange(len(shape) + 1), self.axes[axis]
            if dim == len(shape):
                continue
            text = f'"{axis}"'
            if size == 4 and self.rng.random() < SPLIT_AXIS:
                text, size = f'"{axis}":({self.rng.choice((1, 2))})2', 2
            if left[dim] % size == 0:
                left[dim] //= size
                dims[dim].append(text)
        text = ", ".join(f"{{{', '.join(dim)}}}" for dim in dims)
        return f"{{sdy.sharding = #sdy.sharding<@mesh, [{text}]>}}"

    def pick(self) -> Matrix:
        return self.rng.choice(self.values[-4:] if self.rng.random() < 0.7 else self.values)

    def alike(self, shape: tuple[int, int]) -> Matrix:
        fitting = [value for value in self.values if value[1] == shape]
        return self.rng.choice(fitting) if fitting and self.rng.random() < 0.7 else self.argument(shape)


def products_program(seed: int, ops: int = 6) -> str:
    """Return the text of the program of a seed, on at most 16 devices. It returns all values that it does not use."""
    rng = random.Random(seed)
    axes = dict(zip("abc", rng.choice(MESHES), strict=False))
    draft = _Draft(rng, axes)
    for _ in range(2):
        draft.argument((rng.choice(SIZES), rng.choice(SIZES)))
    for _ in range(rng.randint(2, ops)):
        _op(draft)
    used = set(re.findall(r"%\w+", "\n".join(line.partition(" = ")[2] for line in draft.lines)))
    computed = [value for value in draft.values if not value[0].startswith("%arg")]
    results = dict.fromkeys(value for value in computed if value[0].partition("#")[0] not in used or rng.random() < 0.1)
    head = ", ".join(draft.arguments)
    types = ", ".join(f"{_type(shape)} {draft.sharding(shape)}" for _, shape in results)
    mesh = ", ".join(f'"{axis}"={size}' for axis, size in axes.items())
    end = f"return {', '.join(name for name, _ in results)} : {', '.join(_type(shape) for _, shape in results)}"
    body = "\n  ".join((*draft.lines, end))
    return f"sdy.mesh @mesh = <[{mesh}]>\nfunc.func @main({head}) -> ({types}) {{\n  {body}\n}}\n"


def _type(shape: Sequence[int]) -> str:
    return f"tensor<{'x'.join(map(str, (*shape, 'f32')))}>"


def _op(draft: _Draft) -> None:
    kinds = (_dot, _dot, _dot, _binary, _binary, _transpose, _tanh, _scale, _reduce, _reshape, _accumulate, _iterate)
    draft.rng.choice(kinds)(draft)


def _dot(draft: _Draft) -> Matrix:
    (lhs, shape), dim = draft.pick(), draft.rng.randrange(2)
    other = draft.rng.randrange(2)
    fitting = [value for value in draft.values if value[1][other] == shape[dim]]
    if not fitting or draft.rng.random() < 0.4:
        size = draft.rng.choice(SIZES)
        fitting = [draft.argument((shape[dim], size) if other == 0 else (size, shape[dim]))]
    rhs, right = draft.rng.choice(fitting)
    return _product(draft, (lhs, shape), dim, (rhs, right), other)


def _product(draft: _Draft, lhs: Matrix, dim: int, rhs: Matrix, other: int) -> Matrix:
    result = lhs[1][1 - dim], rhs[1][1 - other]
    types = f"({_type(lhs[1])}, {_type(rhs[1])}) -> {_type(result)}"
    text = f"stablehlo.dot_general {lhs[0]}, {rhs[0]}, contracting_dims = [{dim}] x [{other}] : {types}"
    return draft.define(text, result)


def _binary(draft: _Draft) -> Matrix:
    lhs, shape = draft.pick()
    rhs, _ = draft.alike(shape)
    op = draft.rng.choice(("add", "add", "multiply", "subtract", "maximum"))
    return draft.define(f"stablehlo.{op} {lhs}, {rhs} : {_type(shape)}", shape)


def _transpose(draft: _Draft) -> Matrix:
    value, shape = draft.pick()
    text = f"stablehlo.transpose {value}, dims = [1, 0] : ({_type(shape)}) -> {_type(shape[::-1])}"
    return draft.define(text, (shape[1], shape[0]))


def _tanh(draft: _Draft) -> Matrix:
    value, shape = draft.pick()
    return draft.define(f"stablehlo.tanh {value} : {_type(shape)}", shape)


def _scale(draft: _Draft) -> Matrix:
    value, shape = draft.pick()
    factor = draft.name()
    draft.lines.append(f"{factor} = stablehlo.constant dense<0.5> : {_type(shape)}")
    return draft.define(f"stablehlo.multiply {value}, {factor} : {_type(shape)}", shape)


def _reduce(draft: _Draft) -> Matrix:
    value, shape = draft.pick()
    dim, (op, start) = draft.rng.randrange(2), draft.rng.choice((("add", "0.0"), ("maximum", "0xFF800000")))
    init, reduced, kept = draft.name(), draft.name(), (shape[1 - dim],)
    draft.lines.append(f"{init} = stablehlo.constant dense<{start}> : tensor<f32>")
    types = f"({_type(shape)}, tensor<f32>) -> {_type(kept)}"
    over = f"applies stablehlo.{op} across dimensions = [{dim}]"
    draft.lines.append(f"{reduced} = stablehlo.reduce({value} init: {init}) {over} : {types}")
    to = f"dims = [{1 - dim}] : ({_type(kept)}) -> {_type(shape)}"
    return draft.define(f"stablehlo.broadcast_in_dim {reduced}, {to}", shape)


def _reshape(draft: _Draft) -> Matrix:
    value, shape = draft.pick()
    rows = draft.rng.choice([size for size in (24, 48, 96, shape[1]) if prod(shape) % size == 0])
    result = rows, prod(shape) // rows
    return draft.define(f"stablehlo.reshape {value} : ({_type(shape)}) -> {_type(result)}", result)


def _accumulate(draft: _Draft) -> Matrix:
    """Add a product to a value in each trip of a loop."""
    (lhs, left), (rhs, right) = draft.pick(), draft.pick()
    if left[0] != right[0]:
        rhs, right = lhs, left
    start = draft.alike((left[1], right[1]))
    inner = _Draft(draft.rng, draft.axes, count=1000 * (1 + draft.count))
    product = _product(inner, (lhs, left), 0, (rhs, right), 0)
    if draft.rng.random() < 0.5:
        _tanh(inner) if draft.rng.random() < 0.3 else _scale(inner)
        product = inner.values[-1]
    inner.define(f"stablehlo.add %acc, {product[0]} : {_type(start[1])}", start[1])
    return _loop(draft, start, inner)


def _iterate(draft: _Draft) -> Matrix:
    """Multiply a value by a matrix in each trip of a loop."""
    start = draft.pick()
    matrix = draft.alike((start[1][1], start[1][1]))
    inner = _Draft(draft.rng, draft.axes, count=1000 * (1 + draft.count))
    _product(inner, ("%acc", start[1]), 1, matrix, 0)
    _tanh(inner)
    return _loop(draft, start, inner)


def _loop(draft: _Draft, start: Matrix, body: _Draft) -> Matrix:
    zero, name = draft.name(), draft.name()
    draft.count = body.count
    shape, last = _type(start[1]), body.values[-1][0]
    draft.lines += [
        f"{zero} = stablehlo.constant dense<0> : tensor<i32>",
        f"{name}:2 = stablehlo.while(%i = {zero}, %acc = {start[0]}) : tensor<i32>, {shape}",
        "cond {",
        f"  %trips = stablehlo.constant dense<{draft.rng.choice((2, 3, 8))}> : tensor<i32>",
        "  %more = stablehlo.compare LT, %i, %trips : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "  stablehlo.return %more : tensor<i1>",
        "} do {",
        *body.lines,
        "  %one = stablehlo.constant dense<1> : tensor<i32>",
        "  %next = stablehlo.add %i, %one : tensor<i32>",
        f"  stablehlo.return %next, {last} : tensor<i32>, {shape}",
        "}",
    ]
    draft.values.append((f"{name}#1", start[1]))
    return draft.values[-1]
