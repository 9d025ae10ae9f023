"""`sdy.from_jax`: a JAX function as a `Program`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import pre_order
from sdy.program.on_jax import without_jax
from sdy.program.origin import Origin
from sdy.program.program import Program, read_module

R = TypeVar("R")


def from_jax(fn: Callable[..., R], *args: object, **kwargs: object) -> Program[R]:
    """The program that JAX makes of a call of `fn`, jitted or not.

    Arguments are arrays, or `jax.ShapeDtypeStruct`s with `NamedSharding`s: nothing is computed. The program takes and
    returns the trees of `fn`, with NumPy arrays for JAX's.
    Raises: SdyError SDY-T205 without JAX, SDY-T211 where arguments lie on different devices; whatever JAX raises where
    `fn` cannot be traced.
    """
    try:
        from sdy.frontends.jax.lowering import lower
    except ModuleNotFoundError as error:
        raise without_jax(error) from error
    lowered = lower(fn, args, kwargs)
    module = read_module(lowered.text, lowered.name)
    source_lines = _by_line(module, lowered.places)
    origin = Origin(
        lowered.text, lowered.signature, source_lines, lowered.argument_names, lowered.devices, lowered.axis_types
    )
    return Program(module, origin)


def _by_line(module: ModuleOp, places: Sequence[str]) -> dict[int, str]:
    """The Python line behind each line of the text that defines values.

    `places` has that of each op, and both come in program order.
    """
    by_line: dict[int, str] = {}
    for op, place in zip(pre_order(module), places, strict=True):
        span = span_of(op)
        if place and op.results and span is not None:
            by_line[span.line] = place
    return by_line
