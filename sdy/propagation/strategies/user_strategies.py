"""Strategies that users write. One that breaks the contract is a diagnostic; the strategies of sdy are not checked."""

from __future__ import annotations

from typing import cast

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.user_code import is_code_of_user
from sdy.diagnostics.wording import counted
from sdy.grammar.write import write_axis_list
from sdy.model.axis_list import is_strict_list_prefix
from sdy.model.mesh import Mesh
from sdy.model.rule import FactorIndex, factor_symbol
from sdy.propagation.projection import FactorSharding, Projection, TensorProjection
from sdy.propagation.strategies.step import OpStep, PropagationStrategy


def checked_strategy(strategy: PropagationStrategy) -> PropagationStrategy:
    """Return a strategy that checks what `strategy` returns, unless it is one of sdy.

    It raises SdyError SDY-T011 if that is not a projection of the same tensors whose axes extend the current ones.
    """
    if not is_code_of_user(strategy):
        return strategy
    name = getattr(strategy, "__name__", type(strategy).__name__)

    def checked(step: OpStep, projection: Projection) -> Projection:
        returned = cast(object, strategy(step, projection))
        if not isinstance(returned, Projection):
            raise _error(name, f"expected a Projection, got {returned!r}")
        for side in ("operands", "results"):
            _check_side(name, step.mesh, side, getattr(projection, side), getattr(returned, side))
        return returned

    return checked


def _check_side(
    name: str, mesh: Mesh, side: str, before: tuple[TensorProjection, ...], after: tuple[TensorProjection, ...]
) -> None:
    if len(before) != len(after):
        expected = counted(len(before), side.removesuffix("s"))
        raise _error(name, f"expected the projections of {expected}, got {len(after)}")
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        tensor = f"{side.removesuffix('s')} {index}"
        if new is old:
            continue
        if new.factors.keys() != old.factors.keys():
            kept, found = (_symbols(each) for each in (old, new))
            raise _error(name, f"expected {tensor} to have {kept}, got {found}")
        for factor, entry in old.factors.items():
            _check_factor(name, mesh, f"factor {factor_symbol(factor)} of {tensor}", entry, new.factors[factor])


def _check_factor(name: str, mesh: Mesh, place: str, old: FactorSharding, new: FactorSharding) -> None:
    if new.axes != old.axes and not is_strict_list_prefix(old.axes, new.axes):
        axes, found = (write_axis_list(each.axes) for each in (old, new))
        raise _error(name, f"expected axes that extend {axes} along {place}, got {found}")
    if new.overflow != old.overflow:
        axes, found = (write_axis_list(each.overflow) for each in (old, new))
        raise _error(name, f"expected the overflow {axes} along {place}, got {found}")
    unknown = next((axis.name for axis in new.axes if not mesh.has_axis(axis.name)), None)
    if unknown is not None:
        known = ", ".join(f'"{axis.name}"' for axis in mesh.axes)
        raise _error(name, f'{place}: the mesh has no axis "{unknown}", only {known}')


def _symbols(tensor: TensorProjection) -> str:
    factors: list[FactorIndex] = sorted(tensor.factors)
    return f"factors {', '.join(map(factor_symbol, factors))}" if factors else "no factors"


def _error(name: str, message: str) -> SdyError:
    hint = (
        "a strategy may extend the axes of factors, TensorProjection.expanded(factor, axes), but must not change others"
    )
    return SdyError(Diagnostic("SDY-T011", f"strategy {name}: {message}", hint=hint))
