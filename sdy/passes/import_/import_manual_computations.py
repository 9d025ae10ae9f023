"""Turn the custom calls at the borders of a manual computation into `sdy.manual_computation`.

    before  %1 = @SPMDFullToShardShape(%0)    %2 = call @body(%1)    %3 = @SPMDShardToFullShape(%2)
    after   %3 = sdy.manual_computation(%0) ... (%1) { ops of @body  sdy.return %2 }

Between the calls, everything that depends on the results of the first ones is in the computation, together with
copies of the constants that it uses. Computations that use other values of the program around them stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, TypeGuard

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, Region, SSAValue

from sdy.dialects.facts.traits import is_terminator
from sdy.dialects.ir.fast_ops import append_op, copy_with_regions, detach, replace_uses
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import ancestor_in, op_and_nested_ops, ops_in, ops_of
from sdy.dialects.sdy.ops import ReturnOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.model.sharding import TensorSharding
from sdy.passes.rewriting.call_graph import callee_name, calls_in
from sdy.passes.rewriting.insertion import erase, insert_before
from sdy.passes.simplify.inline import inline_call

ENTRIES = frozenset(("SPMDFullToShardShape", "xla.sdy.GlobalToLocalShape"))
EXITS = frozenset(("SPMDShardToFullShape", "xla.sdy.LocalToGlobalShape"))


class Borders(NamedTuple):
    """The shardings of the global values at an entry or an exit, and the manual axes if the call lists them."""

    shardings: tuple[TensorSharding, ...]
    manual_axes: tuple[str, ...] | None


@dataclass(eq=False)
class _Computation:
    """The calls at the borders of one manual computation, and the ops between them, in program order."""

    entries: list[CustomCallOp] = field(default_factory=list[CustomCallOp])
    ops: list[Operation] = field(default_factory=list[Operation])
    exits: list[CustomCallOp] = field(default_factory=list[CustomCallOp])
    is_closed: bool = True  # no local value is used by the end of the block around it

    def add(self, op: Operation) -> None:
        if _has_target(op, ENTRIES):
            self.entries.append(op)
        elif _has_target(op, EXITS):
            self.exits.append(op)
        else:
            self.ops.append(op)
            self.is_closed &= not is_terminator(op)

    @property
    def locals(self) -> list[SSAValue]:
        """The shards of the arguments."""
        return [result for call in self.entries for result in call.results]

    @property
    def results(self) -> list[SSAValue]:
        """The global results."""
        return [result for call in self.exits for result in call.results]

    def place(self) -> CustomCallOp | None:
        """Return the exit at which the computation can stand, after its operands and before the uses of its results.

        Ops between the exits may use results of the earlier ones, as in HLO.
        """
        first, last = self.exits[0], self.exits[-1]
        if all(_position(call) < _position(first) for call in self.entries):
            return first
        block = last.parent
        users = [use.operation for result in self.results for use in result.uses]
        is_before = block is not None and all(_position(ancestor_in(block, user)) > _position(last) for user in users)
        return last if is_before else None


def import_manual_computations(module: ModuleOp, borders_of: Callable[[CustomCallOp], Borders | None]) -> None:
    """Convert all manual computations whose borders `borders_of` can read, and inline the functions that they call."""
    # A conversion inlines functions, in which there may be manual computations too, so the others are found anew.
    while any(_convert(module, computation, borders_of) for computation in _all_computations(module)):
        pass


def _all_computations(module: ModuleOp) -> Iterator[_Computation]:
    calls = [call for call in ops_of(module, CustomCallOp) if _has_target(call, EXITS)]
    for block in dict.fromkeys(call.parent for call in calls):
        if block is not None:
            yield from _computations(block)


def _computations(block: Block) -> list[_Computation]:
    """Return the manual computations in a block."""
    of_value: dict[SSAValue, _Computation] = {}
    found: list[_Computation] = []
    for op in ops_in(block):
        used = dict.fromkeys(of_value[value] for value in _operands(op) if value in of_value)
        if not used and not _has_target(op, ENTRIES | EXITS):
            continue
        computation = _Computation()
        for each in used or ():
            _merge(each, computation, of_value)
            found.remove(each)
        found.append(computation)
        computation.add(op)
        if not _has_target(op, EXITS):
            of_value.update(dict.fromkeys(op.results, computation))
    return [each for each in found if each.exits]


def _merge(one: _Computation, into: _Computation, of_value: dict[SSAValue, _Computation]) -> None:
    into.entries += one.entries
    into.ops += one.ops
    into.exits += one.exits
    into.is_closed &= one.is_closed
    of_value.update((value, into) for value, owner in of_value.items() if owner is one)


def _convert(module: ModuleOp, computation: _Computation, borders_of: Callable[[CustomCallOp], Borders | None]) -> bool:
    """Convert a computation, unless it uses what it may not; return whether it was converted."""
    entries, exits = computation.entries, computation.exits
    ins = [each for call in entries if (each := borders_of(call))]
    outs = [each for call in exits if (each := borders_of(call))]
    copied = _copied_ops(computation)
    manual_axes = next((each.manual_axes for each in (*ins, *outs) if each.manual_axes is not None), None)
    is_known = copied is not None and len(ins) == len(entries) and len(outs) == len(exits)
    place = computation.place()
    if not is_known or manual_axes is None or not computation.is_closed or place is None:
        return False
    new = ManualComputationOp(
        [_global_value(operand) for call in entries for operand in call.operands],
        tuple(chain.from_iterable(each.shardings for each in ins)),
        tuple(chain.from_iterable(each.shardings for each in outs)),
        manual_axes,
        Region(_body(computation, copied or ())),
        [result.type for result in computation.results],
    )
    insert_before(place, new)
    for result, replacement in zip(computation.results, new.outputs, strict=True):
        replace_uses(result, replacement)
    _erase_borders(computation)
    for op in reversed(copied or ()):
        if op.parent is not None and all(result.first_use is None for result in op.results):
            erase(op)
    _inline(module, new)
    return True


def _body(computation: _Computation, copied: Sequence[Operation]) -> Block:
    """Return a block of the ops of a computation, after copies of the ops that compute its constants."""
    block = Block(arg_types=[value.type for value in computation.locals])
    for value, argument in zip(computation.locals, block.args, strict=True):
        replace_uses(value, argument)
    copies: dict[SSAValue, SSAValue] = {}
    for op in copied:
        append_op(block, copy_with_regions(op, copies))
    for op in computation.ops:
        detach(op)
        append_op(block, op)
        for inner in op_and_nested_ops(op):
            inner.operands = [copies.get(operand, operand) for operand in inner.operands]
    returned = [copies.get(value, value) for call in computation.exits for value in call.operands]
    end = ReturnOp(*returned)
    end.location = computation.exits[-1].location
    append_op(block, end)
    return block


def _erase_borders(computation: _Computation) -> None:
    for call in (*computation.exits, *reversed(computation.entries)):
        operands = call.operands
        erase(call)
        for operand in operands:
            if is_sharding_call(owner := operand.owner) and operand.first_use is None:
                erase(owner)


def _inline(module: ModuleOp, computation: ManualComputationOp) -> None:
    """Inline the calls directly in a computation, which the front end outlined, and erase functions without calls."""
    functions = functions_of(module)
    for call in [op for op in computation.body.block.ops if isinstance(op, CallOp)]:
        callee = functions[callee_name(call)]
        if callee.sym_visibility is not None and callee.sym_visibility.data == "private":
            inline_call(call, callee)
            names = (callee_name(each) for func in functions_of(module).values() for each in calls_in(func))
            if callee.sym_name.data not in names:
                erase(callee)


def _global_value(value: SSAValue) -> SSAValue:
    """Return the value that a `@Sharding` before an entry annotates, as the computation has its sharding."""
    owner = value.owner
    return owner.operands[0] if is_sharding_call(owner) else value


def _copied_ops(computation: _Computation) -> Sequence[Operation] | None:
    """Return the ops outside that compute the constants that a computation uses; None if it uses other values."""
    local = set(chain.from_iterable(op.results for op in (*computation.entries, *computation.ops)))
    pending = [value for op in (*computation.ops, *computation.exits) for value in _operands(op) if value not in local]
    found: dict[Operation, None] = {}
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Block) or owner.regions or _has_target(owner, ENTRIES | EXITS):
            return None
        found[owner] = None
        pending += owner.operands
    return sorted(found, key=_position)


def _position(op: Operation) -> int:
    block = op.parent
    assert block is not None
    return block.get_operation_index(op)


def _operands(op: Operation) -> list[SSAValue]:
    """Return the values that an op and the ops inside use, and that are defined around it."""
    inner = op_and_nested_ops(op)
    own = {*chain.from_iterable(each.results for each in inner if each is not op)}
    own |= {argument for each in inner for region in each.regions for block in region.blocks for argument in block.args}
    return [operand for each in inner for operand in each.operands if operand not in own]


def _has_target(op: object, targets: frozenset[str]) -> TypeGuard[CustomCallOp]:
    return isinstance(op, CustomCallOp) and op.call_target_name.data in targets


def is_sharding_call(op: object) -> TypeGuard[CustomCallOp]:
    """Return whether an op is a `@Sharding`, which annotates its operand."""
    return _has_target(op, frozenset(("Sharding",)))
