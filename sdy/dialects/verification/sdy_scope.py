"""The context that an op of the `sdy` dialect is verified in (meshes and manual axes), and how errors are raised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import Attribute, BlockArgument, Operation

from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError, Span
from sdy.dialects.ir.op_location import error_at, span_of, span_of_argument
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sdy.types import value_shape
from sdy.model.checks.check_sharding import check_per_value, check_sharding
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import TensorSharding


@dataclass(frozen=True, slots=True)
class Scope:
    """The meshes of the innermost module, and the enclosing manual computations, outermost first."""

    meshes: dict[str, Mesh]
    manual: tuple[ManualComputationOp, ...] = ()
    manual_axes: frozenset[str] = frozenset()
    # Shardings and types that fit, by id; they are kept alive, so that no other object gets their ids.
    _fitting: dict[tuple[int, int], tuple[TensorSharding, Attribute]] = field(
        default_factory=dict[tuple[int, int], tuple[TensorSharding, Attribute]], compare=False, repr=False
    )

    def within(self, op: ManualComputationOp) -> Scope:
        """Return the scope of the body of `op`."""
        return Scope(self.meshes, (*self.manual, op), self.manual_axes.union(op.manual_axes.data))

    def mesh_of(self, sharding: TensorSharding) -> Mesh | None:
        """Return the mesh that the sharding refers to, or None if it is not defined."""
        return resolve_mesh(sharding.mesh, self.meshes)

    def require_fits(
        self,
        op: Operation,
        sharding: TensorSharding,
        value_type: Attribute,
        where: str = "",
        argument: BlockArgument | None = None,
    ) -> None:
        """Raise SdyError at `op` if the sharding is not valid for a value of this type, named `where` in messages.

        If the value is an argument, the error or a note is at the argument.
        """
        key = id(sharding), id(value_type)
        if key in self._fitting:
            return
        problem = check_sharding(
            sharding, value_shape(value_type), self.mesh_of(sharding), self.manual_axes, allow_uneven=True
        )
        raise_problem(problem, op, where, self._notes(problem, sharding), argument)
        self._fitting[key] = sharding, value_type

    def require_each_fits(
        self, op: Operation, shardings: Sequence[TensorSharding], types: Sequence[Attribute], where: str
    ) -> None:
        """Raise SdyError at `op` unless there is one sharding per value, each valid for its value."""
        shapes = [value_shape(value_type) for value_type in types]
        error = check_per_value(shardings, shapes, self.meshes, self.manual_axes)
        if error is not None:
            index, problem = error
            raise_problem(
                problem, op, f"{where} {index}" if index is not None else where, self._notes(problem, *shardings)
            )

    def _notes(self, problem: Diagnostic | None, *shardings: TensorSharding) -> tuple[Note, ...]:
        """Return a note that shows in which computation an axis is manual, if the problem is about a manual axis."""
        if problem is None or problem.code != "SDY-S014":
            return ()
        used = {ref.name for sharding in shardings for ref in sharding.axis_refs()}
        op = next(op for op in reversed(self.manual) if used.intersection(op.manual_axes.data))
        return (Note("the axis is manual here", span_of(op)),)


def raise_problem(
    problem: Diagnostic | None,
    op: Operation,
    where: str = "",
    notes: tuple[Note, ...] = (),
    argument: BlockArgument | None = None,
) -> None:
    """Raise SdyError at `op` if there is a problem; `where` names the operand, result or attribute concerned.

    If an argument is concerned, the error or a note is at the argument.
    """
    if problem is not None:
        span, notes = _with_argument(span_of(op), notes, argument)
        message = f"{op.name}: {where}: {problem.message}" if where else f"{op.name}: {problem.message}"
        raise SdyError(replace(problem, message=message, span=span, notes=notes))


def _with_argument(
    span: Span | None, notes: tuple[Note, ...], argument: BlockArgument | None
) -> tuple[Span | None, tuple[Note, ...]]:
    """Return where the error of an op and an argument is, and the notes.

    The error stays on the line of the op, where Shardy reports it and where files expect it.
    """
    of_argument = None if argument is None else span_of_argument(argument)
    if span is None or of_argument is None:
        return span, notes
    if of_argument.line == span.line:
        return of_argument, notes
    return span, (*notes, Note("the argument is here", of_argument))


def failure(op: Operation, code: str, message: str, hint: str | None = None, notes: tuple[Note, ...] = ()) -> SdyError:
    """Return the error at `op`."""
    return error_at(op, code, f"{op.name}: {message}", hint, notes)
