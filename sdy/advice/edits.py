"""Edits of the annotations of a program, applied to a copy of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sdy.ops import ShardingConstraintOp
from sdy.dialects.shardings import set_function_result_sharding, set_sharding, sharding_of
from sdy.model.axis import AxisRef, overlaps
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.model.sharding_update import with_dim
from sdy.passes.rewriting.insertion import after_definition, insert, redirect_other_uses


@dataclass(frozen=True)
class Edit:
    """A new sharding for a value of a module, or for a result of its main function.

    The annotation of the value is replaced; a value inside the program that has none gets a sharding constraint.
    """

    target: SSAValue | int  # a value, or the number of a result of the main function
    sharding: TensorSharding

    def applied(self, module: ModuleOp) -> tuple[ModuleOp, dict[SSAValue, SSAValue]]:
        """Return an edited copy of the module of the value, and the copy of each of its values."""
        copies: dict[SSAValue, SSAValue] = {}
        copy = module.clone(copies)
        if isinstance(self.target, int):
            set_function_result_sharding(main_function(copy), self.target, self.sharding)
        else:
            _annotate(copies[self.target], self.sharding)
        return copy, copies

    @property
    def is_constraint(self) -> bool:
        """Return whether the edit inserts a sharding constraint."""
        return isinstance(self.target, SSAValue) and not _has_annotation(self.target)


def _has_annotation(value: SSAValue) -> bool:
    """Return whether a value has a sharding of its own, or can be given one: an argument of a function."""
    if isinstance(value, BlockArgument):
        return isinstance(value.block.parent_op(), FuncOp)
    return sharding_of(value) is not None


def _annotate(value: SSAValue, sharding: TensorSharding) -> None:
    if _has_annotation(value):
        set_sharding(value, sharding)
    else:
        constraint = insert(ShardingConstraintOp(value, sharding), after_definition(value), UnknownLoc())
        redirect_other_uses(value, constraint.result)


def with_axis(sharding: TensorSharding, dim: int, axis: AxisRef) -> TensorSharding:
    """Return the sharding with `axis` at the minor end of a dim, and in no other dim."""
    moved = without_axis(sharding, axis)
    own = moved.dims[dim]
    return with_dim(moved, dim, replace(own, axes=(*own.axes, axis)))


def without_axis(sharding: TensorSharding, axis: AxisRef) -> TensorSharding:
    """Return the sharding without an axis, or any part of it, in a dim or in the replicated axes."""

    def kept(dim: DimSharding) -> DimSharding:
        return replace(dim, axes=tuple(own for own in dim.axes if not overlaps(own, axis)))

    replicated = tuple(own for own in sharding.replicated if not overlaps(own, axis))
    return replace(sharding, dims=tuple(map(kept, sharding.dims)), replicated=replicated)


def with_priority(sharding: TensorSharding, dim: int, priority: int) -> TensorSharding:
    """Return the sharding with another priority of a dim."""
    return with_dim(sharding, dim, replace(sharding.dims[dim], priority=priority))
