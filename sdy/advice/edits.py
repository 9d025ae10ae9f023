"""Edits of the annotations of a program, applied to a copy of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sdy.ops import ShardingConstraintOp
from sdy.dialects.shardings import set_function_result_sharding, set_sharding, sharding_of
from sdy.grammar.partition_spec import write_partition_spec
from sdy.model.axis import AxisRef, overlaps
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.model.sharding_update import with_dim
from sdy.passes.rewriting.insertion import after_definition, insert, redirect_other_uses, replace_by
from sdy.report.explanation.trace_descriptions import dims_text


@dataclass(frozen=True)
class Edit:
    """A new sharding for a value of a module, or for a result of its main function.

    The annotation of the value is replaced; a value inside the program that has none gets a sharding constraint.
    With `keeps_annotation`, a value that has an annotation gets a sharding constraint too.
    """

    target: SSAValue | int  # a value, or the number of a result of the main function
    sharding: TensorSharding
    keeps_annotation: bool = False

    def applied(self, module: ModuleOp) -> tuple[ModuleOp, dict[SSAValue, SSAValue]]:
        """Return an edited copy of the module of the value, and the copy of each of its values."""
        return edited(module, [self])

    @property
    def is_constraint(self) -> bool:
        """Return whether the edit inserts a sharding constraint."""
        return isinstance(self.target, SSAValue) and (self.keeps_annotation or not _has_annotation(self.target))

    def described(self, name: str, python_line: str = "") -> str:
        """Return the edit in words, for a target with this name: `annotate %w as [{"x"}, {}] or P('x', None)`.

        If the line of Python that computes the value is known, an inserted constraint is the line to write there.
        """
        if python_line and self.is_constraint and isinstance(self.target, SSAValue):
            call = f"x = jax.lax.with_sharding_constraint(x, {write_partition_spec(self.sharding)})"
            return f"{call} for x: {self.target.type} of {python_line}"
        verb, preposition = ("constrain", "to") if self.is_constraint else ("annotate", "as")
        return f"{verb} {name} {preposition} {sharding_text(self.sharding)}"


@dataclass(frozen=True)
class Removal:
    """The removal of the sharding constraint whose result is `target`."""

    target: SSAValue

    def described(self, name: str, python_line: str = "") -> str:
        """Return the removal in words, for a constraint whose result has this name, on a line of Python if known."""
        return (
            f"remove jax.lax.with_sharding_constraint of {python_line}"
            if python_line
            else f"remove the sharding constraint {name}"
        )


Change = Edit | Removal


def is_at_boundary(change: Change) -> bool:
    """Return whether a change replaces the sharding of an argument or a result of the main function."""
    if isinstance(change.target, int):
        return True
    return isinstance(change, Edit) and isinstance(change.target, BlockArgument) and not change.is_constraint


def edited(module: ModuleOp, changes: Sequence[Change]) -> tuple[ModuleOp, dict[SSAValue, SSAValue]]:
    """Return a copy of a module with changes to its annotations, and the copy of each value of the module."""
    copies: dict[SSAValue, SSAValue] = {}
    copy = copy_with_regions(module, copies)
    for change in changes:
        if isinstance(change, Removal):
            _remove(copies[change.target])
        elif isinstance(change.target, int):
            set_function_result_sharding(main_function(copy), change.target, change.sharding)
        elif change.is_constraint:
            _constrain(copies[change.target], change.sharding)
        else:
            set_sharding(copies[change.target], change.sharding)
    return copy, copies


def _has_annotation(value: SSAValue) -> bool:
    """Return whether a value has a sharding of its own, or can be given one: an argument of a function."""
    if isinstance(value, BlockArgument):
        return isinstance(value.block.parent_op(), FuncOp)
    return sharding_of(value) is not None


def _constrain(value: SSAValue, sharding: TensorSharding) -> None:
    constraint = insert(ShardingConstraintOp(value, sharding), after_definition(value), UnknownLoc())
    redirect_other_uses(value, constraint.result)


def _remove(target: SSAValue) -> None:
    constraint = target.owner
    assert isinstance(constraint, ShardingConstraintOp)
    replace_by(constraint, constraint.input)


def sharding_text(sharding: TensorSharding) -> str:
    """Return a sharding in the sdy notation, and as a PartitionSpec of JAX unless it has priorities."""
    if any(dim.priority is not None for dim in sharding.dims):
        return dims_text(sharding)
    return f"{dims_text(sharding)} or {write_partition_spec(sharding)}"


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
