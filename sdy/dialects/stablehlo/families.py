"""The ops of StableHLO by family: the module that declares them, imported when a program has one of its ops.

Most programs use few families, and declaring the others would take a tenth of the time of a short call of `sdy-opt`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

from xdsl.ir import Operation

DIALECT = "stablehlo"
_FAMILIES = (
    *("elementwise", "contraction", "reduction", "shape", "slicing", "gather_scatter", "window", "control", "calls"),
    *("tokens", "collectives", "linalg", "random"),
)


@cache
def op_class(name: str) -> type[Operation] | None:
    """Return the class of an op by its full name, or None if StableHLO has no such op."""
    found = (each for family in _FAMILIES if f'name = "{name}"' in _text(family) for each in ops_of_family(family))
    return next((each for each in found if each.name == name), None)


@cache
def _text(family: str) -> str:
    """Return the text of the module of a family, which need not be imported yet."""
    return Path(__file__).with_name(f"{family}.py").read_text()


def ops_of_family(family: str) -> tuple[type[Operation], ...]:
    """Return the classes of a family."""
    return import_module(f"sdy.dialects.stablehlo.{family}").OPS


def all_ops() -> list[type[Operation]]:
    """Return the classes of all ops."""
    return [each for family in _FAMILIES for each in ops_of_family(family)]
