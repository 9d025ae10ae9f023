"""Turn the custom calls at the borders of a manual computation into `sdy.manual_computation`.

    before  %1 = @SPMDFullToShardShape(%0)    %2 = call @body(%1)    %3 = @SPMDShardToFullShape(%2)
    after   %3 = sdy.manual_computation(%0) ... (%1) { ops of @body  sdy.return %2 }

Between the calls, everything that depends on the results of the first ones is in the computation, together with
copies of the constants that it uses. Computations that use other values of the program around them stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, TypeGuard

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, Region, SSAValue

from sdy.dialects.ir.fast_ops import append_op, copy_with_regions, detach, replace_uses
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.traits import is_terminator
from sdy.dialects.ir.walk import op_and_nested_ops, ops_in, ops_of
from sdy.dialects.sdy.ops import ReturnOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.model.sharding import TensorSharding
from sdy.passes.rewriting.call_graph import callee_name, calls_in
from sdy.passes.rewriting.insertion import erase, insert_before
from sdy.passes.simplify.inline import inline_call

ENTRIES = frozenset(("SPMDFullToShardShape", "xla.sdy.GlobalToLocalShape"))
EXITS = frozenset(("SPMDShardToFullShape", "xla.sdy.LocalToGlobalShape"))
SHARDING_CALL = frozenset(("Sharding",))


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
    is_closed: bool = True  # no local value is used by the end of the block around it, nor after an exit

    def add(self, op: Operation) -> None:
        if _has_target(op, ENTRIES):
            self.entries.append(op)
        elif _has_target(op, EXITS):
            self.exits.append(op)
        else:
            self.ops.append(op)
            self.is_closed &= not self.exits and not is_terminator(op)


def import_manual_computations(module: ModuleOp, borders_of: Callable[[CustomCallOp], Borders | None]) -> None:
    """Convert all manual computations whose borders `borders_of` can read, and inline the functions that they call."""
    calls = [call for call in ops_of(module, CustomCallOp) if _has_target(call, ENTRIES)]
    blocks = dict.fromkeys(call.parent for call in calls)
    called: set[str] = set()
    for block in blocks:
        for computation in _computations(block) if block is not None else ():
            called |= _convert(module, computation, borders_of)
    for name in called:
        func = functions_of(module)[name]
        if all(callee_name(call) != name for each in functions_of(module).values() for call in calls_in(each)):
            erase(func)


def _computations(block: Block) -> list[_Computation]:
    """Return the manual computations in a block."""
    of_value: dict[SSAValue, _Computation] = {}
    found: list[_Computation] = []
    for op in ops_in(block):
        used = dict.fromkeys(of_value[value] for value in _operands(op) if value in of_value)
        if not used and not _has_target(op, ENTRIES):
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


def _convert(
    module: ModuleOp, computation: _Computation, borders_of: Callable[[CustomCallOp], Borders | None]
) -> set[str]:
    """Convert a computation, and return the names of the functions that were inlined."""
    entries, exits = computation.entries, computation.exits
    sources = [borders_of(call) for call in entries]
    targets = [borders_of(call) for call in exits]
    ins, outs = [each for each in sources if each], [each for each in targets if each]
    copied = _copied_ops(computation)
    if copied is None or not computation.is_closed or len(ins) < len(sources) or len(outs) < len(targets):
        return set()
    local = list(chain.from_iterable(call.results for call in entries))
    block = Block(arg_types=[value.type for value in local])
    for value, argument in zip(local, block.args, strict=True):
        replace_uses(value, argument)
    copies: dict[SSAValue, SSAValue] = {}
    for op in copied:
        append_op(block, copy_with_regions(op, copies))
    for op in computation.ops:
        detach(op)
        append_op(block, op)
        for inner in op_and_nested_ops(op):
            inner.operands = [copies.get(operand, operand) for operand in inner.operands]
    returned = chain.from_iterable(call.operands for call in exits)
    append_op(block, ReturnOp(*(copies.get(value, value) for value in returned)))
    last = block.last_op
    assert last is not None
    last.location = exits[0].location
    new = ManualComputationOp(
        [_global_value(operand) for call in entries for operand in call.operands],
        tuple(chain.from_iterable(each.shardings for each in ins)),
        tuple(chain.from_iterable(each.shardings for each in outs)),
        next((each.manual_axes for each in ins if each.manual_axes is not None), ()),
        Region(block),
        [result.type for call in exits for result in call.results],
    )
    insert_before(exits[0], new)
    for result, replacement in zip((result for call in exits for result in call.results), new.outputs, strict=True):
        replace_uses(result, replacement)
    for call in (*exits, *reversed(entries)):
        operands = call.operands
        erase(call)
        for operand in operands:
            if _has_target(owner := operand.owner, SHARDING_CALL) and operand.first_use is None:
                erase(owner)
    return _inline(module, new)


def _inline(module: ModuleOp, computation: ManualComputationOp) -> set[str]:
    """Inline the calls directly in a computation, which the front end outlined; return the names of the functions."""
    functions = functions_of(module)
    names: set[str] = set()
    for call in [op for op in computation.body.block.ops if isinstance(op, CallOp)]:
        callee = functions[callee_name(call)]
        if callee.sym_visibility is not None and callee.sym_visibility.data == "private":
            inline_call(call, callee)
            names.add(callee.sym_name.data)
    return names


def _global_value(value: SSAValue) -> SSAValue:
    """Return the value that a `@Sharding` before an entry annotates, as the computation has its sharding."""
    owner = value.owner
    return owner.operands[0] if _has_target(owner, SHARDING_CALL) else value


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
