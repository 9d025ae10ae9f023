"""Check that every op can be placed without transfers that nobody asked for. Source: docs/spec/07, 5.18 and 5.19."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.op_location import span_of, span_of_argument
from sdy.dialects.ir.walk import post_order, pre_order
from sdy.mpmd.dialect.functions import is_entry_point, mpmd_functions
from sdy.mpmd.dialect.ops import AssignOp, CallOp, UnassignOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.passes.import_.populate_sets import REDUCE, is_in_chain
from sdy.mpmd.passes.tools.mesh_sets import SRC_SET, USE_SET, MeshSet, argument_set, made_on, op_set, result_set
from sdy.mpmd.passes.tools.meshless import is_meshless
from sdy.mpmd.passes.tools.uses import calls_by_callee, users_of, users_of_op

_HINT = "transfer a value explicitly, or set infer-transfers"
_REDUCTION_HINT = "transfer an operand explicitly, or set infer-cross-mesh-reductions"


@dataclass(frozen=True)
class _ValidationPass(ModulePass):
    """The base class of the checks: they stop at `error-limit` errors in a function, or at none for -1."""

    error_limit: int = 5

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check all functions. Raises: SdyError SDY-M109 with the problems."""
        problems: list[Diagnostic] = []
        program = _Program(op)
        for func in self.ordered(mpmd_functions(op)):
            for count, problem in enumerate(self.problems(func, program), start=1):
                problems.append(problem)
                if count == self.error_limit:
                    break
        if problems:
            raise SdyError(*problems)

    def ordered(self, functions: Sequence[FuncOp]) -> Iterable[FuncOp]:
        """Return the functions in the order in which they are checked."""
        return functions

    @abstractmethod
    def problems(self, func: FuncOp, program: _Program) -> Iterator[Diagnostic]:
        """Yield the problems of a function."""


class ValidateSrcSetNotEmptyPass(_ValidationPass):
    """Check that each op can run on some mesh without a transfer."""

    name = "mpmd-infer-mesh-validate-src-set-not-empty"

    def problems(self, func: FuncOp, program: _Program) -> Iterator[Diagnostic]:
        """Yield an error for the first op of each chain whose operands are on different meshes, and for arguments."""
        for op in post_order(func):
            if not is_meshless(op):
                continue
            if REDUCE in op.attributes:
                producers = [operand.owner for operand in op.operands if isinstance(operand.owner, Operation)]
                if not any(REDUCE in producer.attributes for producer in producers):
                    yield program.conflict(op, _REDUCTION_HINT)
            elif _is_empty(op_set(op, SRC_SET)) and not any(_is_empty(made_on(each)) for each in op.operands):
                yield program.conflict(op, _HINT)
        calls = program.calls.get(func.sym_name.data, [])
        for argument in func.body.block.args:
            operands = [call.operands[argument.index] for call in calls]
            if _is_empty(argument_set(argument, SRC_SET)) and not any(map(_is_empty, map(made_on, operands))):
                message = f"argument {argument.index} of @{func.sym_name.data} cannot be placed on a mesh"
                notes = program.sources(operands)
                text = f"{message}: its calls pass values of different meshes"
                yield Diagnostic("SDY-M109", text, span_of(func), _HINT, tuple(notes))


class ValidateNoAdditionalTransfersNeededPass(_ValidationPass):
    """Check that each op can run, without a transfer, on all meshes that need its result."""

    name = "mpmd-infer-mesh-validate-no-additional-transfers-needed"

    def ordered(self, functions: Sequence[FuncOp]) -> Iterable[FuncOp]:
        """Return called functions first."""
        return sorted(functions, key=is_entry_point)

    def problems(self, func: FuncOp, program: _Program) -> Iterator[Diagnostic]:
        """Yield an error for the last op of each chain that needs a transfer, and for arguments."""
        for op in reversed(pre_order(func, FragmentOp)):
            if isinstance(op, CallOp):
                yield from _mismatched_results(op)
            elif is_meshless(op) or isinstance(op, AssignOp):
                sets = op_set(op, SRC_SET), op_set(op, USE_SET)
                yield from program.missing_transfers(op, op, op.name, list(op.results), *sets)
        for argument in func.body.block.args:
            name = f"argument {argument.index} of @{func.sym_name.data}"
            sets = argument_set(argument, SRC_SET), argument_set(argument, USE_SET)
            yield from program.missing_transfers(argument, func, name, [argument], *sets)


def _mismatched_results(call: CallOp) -> Iterator[Diagnostic]:
    """Yield an error for each result of a call that the next call of the function needs on other meshes."""
    if not is_in_chain(call):
        return
    callee = call.function
    for index, result in enumerate(call.results):
        made = result_set(callee, index) or MeshSet()
        for use in result.uses:
            if isinstance(use.operation, CallOp) and use.operation.callee == call.callee:
                used = argument_set(callee.body.block.args[use.index], USE_SET) or MeshSet()
                if used.all_names() != made.all_names():
                    message = (
                        f"@{callee.sym_name.data} returns result {index} on {made or 'no mesh'} and gets it again as "
                        f"argument {use.index} on {used or 'no mesh'}"
                    )
                    yield Diagnostic("SDY-M109", message, span_of(callee), _HINT)


def _is_empty(meshes: MeshSet | None) -> bool:
    return meshes is not None and not meshes


class _Program:
    """The facts of a module that the checks ask for, and the ops and arguments that failed one."""

    def __init__(self, module: ModuleOp) -> None:
        self.calls = calls_by_callee(module)
        self.failed: set[Operation | SSAValue] = set()

    def conflict(self, op: Operation, hint: str) -> Diagnostic:
        """Return the error for an op whose operands are on different meshes, with a note for each source."""
        notes: list[Note] = []
        for index, operand in enumerate(op.operands):
            made = made_on(operand)
            where = "any mesh" if made is None else f"{{{', '.join(made.names())}}}"
            notes.append(Note(f"operand {index} can be on {where}"))
            notes += self.sources([operand])
        message = f"{op.name} cannot be placed on a mesh, as its operands are on different ones"
        return Diagnostic("SDY-M109", message, span_of(op), hint, tuple(notes))

    def missing_transfers(
        self,
        failed: Operation | SSAValue,
        op: Operation,
        name: str,
        results: Sequence[SSAValue],
        made: MeshSet | None,
        used: MeshSet | None,
    ) -> Iterator[Diagnostic]:
        """Yield the error for a value that is needed where it cannot be made, unless that of a user says it."""
        if made is None or used is None or used.all_names() <= made.all_names():
            return
        if not self.is_reported_later(results):
            message = f"{name} is needed on {used}, but can only be placed on {made or 'no mesh'} without a transfer"
            values = list(op.operands)
            notes = [*self.sources(values), *_notes_of_uses([*op.results] if op.results else values)]
            yield Diagnostic("SDY-M109", message, span_of(op), _HINT, tuple(notes))
        self.failed.add(failed)

    def is_reported_later(self, values: Sequence[SSAValue]) -> bool:
        """Return whether a user of the values, or an argument that gets one, failed before."""
        return any(
            use.operation in self.failed
            if not isinstance(use.operation, CallOp)
            else use.operation.function.body.block.args[use.index] in self.failed
            for value in values
            for use in value.uses
            if is_meshless(use.operation) or isinstance(use.operation, CallOp)
        )

    def sources(self, values: Sequence[SSAValue]) -> list[Note]:
        """Return a note for each value on a mesh, or argument, from which values are computed."""
        notes: list[Note] = []
        for value, pending in _reached(values):
            owner = value.owner
            if isinstance(owner, Block):
                notes += self._of_argument(value, pending)
            elif isinstance(owner, UnassignOp):
                name = "" if owner.origin is None else f', from "{owner.origin.data}"'
                notes.append(Note(f"a value on {owner.mesh}{name}", span_of(owner)))
            elif is_meshless(owner):
                pending += owner.operands
            elif isinstance(owner, CallOp) and isinstance(value, OpResult):
                pending.append(terminator_of(owner.function.body).operands[value.index])
        return notes

    def _of_argument(self, value: SSAValue, pending: list[SSAValue]) -> list[Note]:
        func = value.owner.parent_op()
        if not isinstance(func, FuncOp) or not isinstance(value, BlockArgument):
            return []
        if is_entry_point(func):
            made = argument_set(value, SRC_SET)
            return [Note(f"argument {value.index}, on {made or 'any mesh'}", span_of_argument(value))]
        pending += [call.operands[value.index] for call in self.calls.get(func.sym_name.data, [])]
        return []


def _notes_of_uses(values: Sequence[SSAValue]) -> list[Note]:
    """Return a note for each place on a mesh where values are needed."""
    notes: list[Note] = []
    for value, pending in _reached(values):
        for user in users_of(value):
            if isinstance(user, AssignOp):
                name = "" if user.origin is None else f', for "{user.origin.data}"'
                notes.append(Note(f"needed on {user.mesh}{name}", span_of(user)))
            elif isinstance(user, ReturnOp):
                notes.append(Note("returned here", span_of(user)))
            elif is_meshless(user) and users_of_op(user):
                pending += user.results
    return notes


def _reached(values: Sequence[SSAValue]) -> Iterator[tuple[SSAValue, list[SSAValue]]]:
    """Yield values once each, the last one first, with the list of those to come, to which the caller adds more."""
    pending, seen = list(values), set[SSAValue]()
    while pending:
        value = pending.pop()
        if value not in seen:
            seen.add(value)
            yield value, pending
