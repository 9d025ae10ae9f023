"""Seeded programs of one StableHLO op each, on random constants: one generator per family of ops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sdy.interpreter.element_types import Array, compute_dtype, is_complex, is_float, is_integer, is_signed
from sdy.interpreter.elements import attribute_of
from sdy.interpreter.ops.conversion import converted
from sdy.interpreter.arguments import parse_type


@dataclass
class Draft:
    """A program that is being written: constants first, then the op, then the results."""

    random: np.random.Generator
    lines: list[str] = field(default_factory=list[str])
    results: list[str] = field(default_factory=list[str])
    closeness: float = 0.0  # how far floats may lie apart, relative to the largest result; 0: 4 units in the last place

    def constant(self, array: Array, element: str) -> str:
        """A constant of these elements; its name."""
        name = f"%c{len(self.lines)}"
        self.lines.append(f"{name} = stablehlo.constant {attribute_of(array, parse_type(tensor(array.shape, element)))}")
        return name
