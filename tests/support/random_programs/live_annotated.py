"""Draw programs with all kinds of annotations and without dead ops, which crash Shardy when it keeps records."""

from __future__ import annotations

import random
from collections.abc import Callable

SIZE = 16
TYPE = f"tensor<{SIZE}x{SIZE}xf32>"
AXES: tuple[str, ...] = ('"x"', '"y"', '"z":(1)2', '"z":(2)2')
FREE_DIMS = ("", "?", '"y", ?', '"z":(1)2', '"y", "z":(2)2, ?')
MESH = '<["x"=2, "y"=4, "z"=4]>'


class RandomProgram:
    """A function on square matrices, determined by a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lines: list[str] = []
        self._values: list[str] = []
        self._unused: list[str] = []

    def text(self) -> str:
        """Return the text of the module."""
        arguments = ", ".join(self._argument(index) for index in range(self._random.randint(1, 3)))
        for _ in range(self._random.randint(2, 9)):
            self._random.choice(self._kinds())()
        results = self._unused or self._values[:1]
        types = ", ".join(TYPE + self._attribute(0.3) for _ in results)
        lines = "\n".join(f"  {line}" for line in self._lines)
        returned = f"return {', '.join(results)} : {', '.join(TYPE for _ in results)}"
        return f"sdy.mesh @m = {MESH}\nfunc.func @main({arguments}) -> ({types}) {{\n{lines}\n  {returned}\n}}\n"

    def _kinds(self) -> tuple[Callable[[], None], ...]:
        common = (self._pointwise, self._product, self._transpose)
        return (*common, *common, self._constraint, self._constraint, self._barrier, self._manual_computation)

    def _argument(self, index: int) -> str:
        self._values.append(f"%arg{index}")
        return f"%arg{index}: {TYPE}{self._attribute(0.6)}"

    def _attribute(self, probability: float) -> str:
        return f" {{sdy.sharding = #sdy.sharding{self._sharding()}}}" if self._random.random() < probability else ""

    def _sharding(self, *, priorities: bool = True) -> str:
        axes = self._random.sample(AXES, self._random.randint(0, 3))
        split = self._random.randint(0, len(axes))
        dims = ", ".join(self._dim(part, priorities) for part in (axes[:split], axes[split:]))
        return f"<@m, [{dims}]>"

    def _dim(self, axes: list[str], priorities: bool) -> str:
        if set(axes) >= {'"z":(1)2', '"z":(2)2'}:
            axes = [axis for axis in axes if axis != '"z":(2)2']
        open_dim = ["?"] if self._random.random() < 0.6 else []
        priority = self._random.choice(("", "", "p0", "p1", "p2")) if priorities and (axes or open_dim) else ""
        return "{" + ", ".join(axes + open_dim) + "}" + priority

    def _operand(self) -> str:
        value = self._random.choice(self._values)
        self._use(value)
        return value

    def _use(self, value: str) -> None:
        if value in self._unused:
            self._unused.remove(value)

    def _define(self, text: str) -> None:
        name = f"%v{len(self._lines)}"
        self._lines.append(f"{name} = {text}")
        self._values.append(name)
        self._unused.append(name)

    def _pointwise(self) -> None:
        self._define(f"stablehlo.add {self._operand()}, {self._operand()} : {TYPE}")

    def _product(self) -> None:
        operands = f"{self._operand()}, {self._operand()}, contracting_dims = [1] x [0]"
        self._define(f"stablehlo.dot_general {operands} : ({TYPE}, {TYPE}) -> {TYPE}")

    def _transpose(self) -> None:
        self._define(f"stablehlo.transpose {self._operand()}, dims = [1, 0] : ({TYPE}) -> {TYPE}")

    def _constraint(self) -> None:
        self._define(f"sdy.sharding_constraint {self._operand()} {self._sharding(priorities=False)} : {TYPE}")

    def _manual_computation(self) -> None:
        local = f"tensor<{SIZE // 2}x{SIZE}xf32>"
        sides = [f'[<@m, [{{"x", ?}}, {{{self._random.choice(FREE_DIMS)}}}]>]' for _ in range(2)]
        body = f"%b = stablehlo.add %a, %a : {local}\n    sdy.return %b : {local}"
        self._define(
            f"sdy.manual_computation({self._operand()}) in_shardings={sides[0]} out_shardings={sides[1]} "
            f'manual_axes={{"x"}} (%a: {local}) {{\n    {body}\n  }} : ({TYPE}) -> {TYPE}'
        )

    def _barrier(self) -> None:
        self._define(f"stablehlo.optimization_barrier {self._operand()} : {TYPE}")
