"""Place the inputs and outputs of functions on meshes, as the text of assignments says.

Source: docs/spec/07, 5.2, 5.4 and 5.13; docs/spec/08, 1.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import counted
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.host_memory import MEMORY_KIND
from sdy.dialects.ir.fast_ops import redirect_uses, set_operand, set_type
from sdy.mpmd.dialect.attrs import split_memory_kind
from sdy.mpmd.dialect.functions import failure, update_function_type
from sdy.mpmd.dialect.ops import AssignOp, TransferOp, UnassignOp
from sdy.mpmd.dialect.types import MeshTensorType, mesh_type
from sdy.mpmd.dialect.value_attributes import ARG_ATTRS, RES_ATTRS, update
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass, is_mpmd_entry_point
from sdy.mpmd.passes.tools.mesh_sets import USE_SET, MeshSet, argument_set, intersection, made_on, op_set, preferred
from sdy.passes.rewriting.insertion import insert, insert_before, point_after

ValueT = TypeVar("ValueT", bound=SSAValue)


class Place(NamedTuple):
    """The place that the user gave a name: a mesh, perhaps with a memory kind after a `#`, and a stage."""

    text: str
    stage: int | None = None

    @property
    def mesh(self) -> str:
        """The name of the mesh."""
        return split_memory_kind(self.text)[0]

    @property
    def memory_kind(self) -> str | None:
        """The memory kind, if one is given."""
        return split_memory_kind(self.text)[1]


def parse_assignment(text: str) -> dict[str, Place]:
    """Return the place of each name of `f@m1,g@m2/1`. Raises: SdyError SDY-M010."""
    places: dict[str, Place] = {}
    for entry in _entries(text):
        name, where = _split(entry, "name@mesh or name@mesh/stage")
        mesh, has_stage, stage = where.partition("/")
        places[name] = Place(mesh, _integer(stage, entry, "a stage") if has_stage else None)
    return places


def parse_indexed_assignment(text: str) -> dict[int, Place]:
    """Return the place of each index of `0@m1,1@m2#pinned_host`, by increasing index. Raises: SdyError SDY-M010."""
    pairs = [_split(entry, "index@mesh") for entry in _entries(text)]
    return dict(sorted((_integer(index, f"{index}@{mesh}", "an index"), Place(mesh)) for index, mesh in pairs))


def parse_constraints(text: str) -> list[tuple[int, int]]:
    """Return the pairs of input and output of `0:0,2:1`. Raises: SdyError SDY-M010."""
    pairs = [entry.partition(":") for entry in _entries(text)]
    return [
        (_integer(first, f"{first}:{second}", "an input"), _integer(second, f"{first}:{second}", "an output"))
        for first, _, second in pairs
    ]


def input_of(func: FuncOp, index: int) -> BlockArgument:
    """Return an input that an assignment or a constraint names. Raises: SdyError SDY-M010 if there is none."""
    return _existing(func, "input", func.body.block.args, index)


def output_of(func: FuncOp, index: int) -> SSAValue:
    """Return an output that an assignment or a constraint names. Raises: SdyError SDY-M010 if there is none."""
    return _existing(func, "output", terminator_of(func.body).operands, index)


def _existing(func: FuncOp, kind: str, values: Sequence[ValueT], index: int) -> ValueT:
    if 0 <= index < len(values):
        return values[index]
    message = f"{kind} {index} does not exist: @{func.sym_name.data} has {counted(len(values), kind)}"
    raise failure(func, "SDY-M010", message, "indices begin at 0")


def _entries(text: str) -> list[str]:
    return [entry for each in text.split(",") if (entry := each.strip())]


def _split(entry: str, expected: str) -> tuple[str, str]:
    name, separator, place = entry.partition("@")
    if not separator:
        raise _error(f"expected {expected}, got {entry}")
    return name, place


def _integer(text: str, entry: str, expected: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _error(f"expected {expected} as an integer, got {text!r} in {entry}") from None


def _error(message: str) -> SdyError:
    hint = "entries are separated by commas, as in f@m1,g@m2/1 or 0@m1"
    return SdyError(Diagnostic("SDY-M010", message, hint=hint))


def place_argument(
    argument: BlockArgument,
    mesh: str,
    origin: str | None = None,
    *,
    memory_kind: str | None = None,
    after: Operation | None = None,
) -> UnassignOp:
    """Give an argument the type of a mesh tensor, and let its uses use an unassign of it, which is returned.

    The unassign stands at the start of the block, or right after another op.
    """
    uses = list(argument.uses)
    set_type(argument, MeshTensorType.of(mesh, argument.type, memory_kind=memory_kind))
    unassign = insert(UnassignOp(argument, origin), point_after(after, argument.block), argument.location)
    redirect_uses(argument, uses, unassign.result)
    return unassign


def place_result(
    end: Operation, index: int, mesh: str, origin: str | None = None, *, memory_kind: str | None = None
) -> None:
    """Return an assign of a value to a mesh in its place."""
    assign = insert_before(end, AssignOp(end.operands[index], mesh, origin, memory_kind=memory_kind))
    set_operand(end, index, assign.result)


@dataclass(frozen=True)
class EnforceInputOutputEquishardingPass(FunctionPass):
    """Transfer an output to the type of an input, where a constraint ties them."""

    name = "mpmd-enforce-input-output-equisharding"
    ON = is_mpmd_entry_point

    constraints: str = ""

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Insert the transfers before the return."""
        types = func.function_type
        end = terminator_of(func.body)
        for source, target in parse_constraints(self.constraints):
            expected, value = input_of(func, source).type, output_of(func, target)
            if types.outputs.data[target] != expected:
                transfer = insert_before(end, TransferOp(value, mesh_type(expected)))
                set_operand(end, target, transfer.result)
        update_function_type(func)


@dataclass(frozen=True)
class MapInputOutputToMeshPass(FunctionPass):
    """Place inputs and outputs of the entry points on the meshes that the user chose."""

    name = "mpmd-map-input-output-to-mesh"
    ON = is_mpmd_entry_point

    input_assignment: str = ""
    output_assignment: str = ""

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Insert unassigns of the inputs, in order, and assigns of the outputs."""
        last: Operation | None = None
        for index, place in parse_indexed_assignment(self.input_assignment).items():
            last = place_argument(
                input_of(func, index), place.mesh, "user_in", memory_kind=place.memory_kind, after=last
            )
        end = terminator_of(func.body)
        for index, place in parse_indexed_assignment(self.output_assignment).items():
            output_of(func, index)
            place_result(end, index, place.mesh, "user_out", memory_kind=place.memory_kind)
        update_function_type(func)
        for name, values in ((ARG_ATTRS, func.body.block.args), (RES_ATTRS, end.operands)):
            for index, value in enumerate(values):
                if isinstance(value.type, MeshTensorType) and value.type.memory_kind is not None:
                    update(func, name, index, {MEMORY_KIND: None})


@dataclass(frozen=True)
class AssignUsingInputOutputConstraintsPass(FunctionPass):
    """Place an input and an output that a constraint ties on one mesh, where that needs no transfer."""

    name = "mpmd-infer-mesh-assign-using-input-output-constraints"
    ON = is_mpmd_entry_point

    constraints: str = ""
    verbose_logging: bool = False

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Place the ends of the function that each constraint ties."""
        for source, target in parse_constraints(self.constraints):
            argument, value = input_of(func, source), output_of(func, target)
            mesh = _common_mesh(argument, value)
            if mesh is not None and is_local(value.type):
                place_result(terminator_of(func.body), target, mesh, "io_constraint_out")
            if mesh is not None and is_local(argument.type):
                place_argument(argument, mesh, "io_constraint_in")
        update_function_type(func)


def _common_mesh(argument: BlockArgument, value: SSAValue) -> str | None:
    """Return the mesh for an input and an output, or None if there is none for both."""
    if isinstance(value.type, MeshTensorType):
        return value.type.mesh
    placed = argument.type.mesh if isinstance(argument.type, MeshTensorType) else None
    needed = argument_set(argument, USE_SET) or MeshSet() if placed is None else MeshSet({placed: []})
    used = None if isinstance(value.owner, Block) else op_set(value.owner, USE_SET)
    made = made_on(value)
    if placed is None and not needed:
        return preferred(used) or preferred(made)
    return preferred(intersection(used, needed) if used else None) or preferred(intersection(needed, made))


def is_local(value_type: Attribute) -> bool:
    """Return whether a value is a tensor that is not on a mesh yet."""
    return isinstance(value_type, TensorType)
