"""The memory of arguments: which values share it, and how long an argument of the main function keeps it.

The caller of a program holds its arguments, so their memory stays in use to the end. An argument is *donated* if it has
`jax.buffer_donor` or `tf.aliasing_output`: its memory is free after its last read, and a result may be written there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.func_attrs import attribute_of
from sdy.dialects.ir.symbols import MAIN, functions_of, main_function
from sdy.dialects.ir.walk import block_of, op_and_nested_ops, pre_order
from sdy.dialects.stablehlo import elementwise
from sdy.dialects.stablehlo.control import WhileOp
from sdy.dialects.stablehlo.gather_scatter import ScatterOp
from sdy.dialects.stablehlo.slicing import DynamicUpdateSliceOp

DONOR, ALIASED_RESULT = "jax.buffer_donor", "tf.aliasing_output"
_IN_PLACE = frozenset((*elementwise.OPS, DynamicUpdateSliceOp, ScatterOp))


class Buffers:
    """The arguments of the main function that are held or donated, and the values that share their memory."""

    def __init__(self, module: ModuleOp) -> None:
        functions = functions_of(module)
        self._held: frozenset[SSAValue] = frozenset()
        self._end: Operation | None = None
        self._overwritten: dict[Operation, list[SSAValue]] = {}
        if len(functions) == 1 or MAIN in functions:  # a library of functions has no arguments that a caller holds
            main = main_function(module)
            self._held = frozenset(arg for arg in main.body.block.args if not _is_donated(main, arg.index))
            self._end = main.body.block.last_op
            self._overwritten = _overwritten(main)
        self._shared = _values_in_memory_of_others(self._held, module)

    def is_shared(self, value: SSAValue) -> bool:
        """Return whether a value needs no memory, because another value that lives on is equal.

        Such values are arguments of called functions, and values that a loop carries but does not change.
        """
        return value in self._shared

    def reads(self, op: Operation, block: Block) -> list[SSAValue]:
        """Return the values of a block that an op reads, including reads in its regions.

        The return of the main function reads the held arguments too, because they live until then.
        """
        found = [value for reader in op_and_nested_ops(op) for value in operands_of(reader) if block_of(value) is block]
        return [*found, *self._held] if op is self._end else found

    def overwritten(self, op: Operation) -> Sequence[SSAValue]:
        """Return the operands whose memory the results take over, unless another op reads them later."""
        return operands_of(op) if isinstance(op, WhileOp) else self._overwritten.get(op, ())

    def last_reads(self, block: Block) -> dict[Operation, set[SSAValue]]:
        """Return, for each op of a block, the values of the block that it is the last op to read."""
        last: dict[SSAValue, Operation] = {}
        dying: dict[Operation, set[SSAValue]] = {}
        for op in block.ops:
            dying[op] = set()
            last.update(dict.fromkeys(self.reads(op, block), op))
        for value, op in last.items():
            dying[op].add(value)
        return dying


def region_inputs(op: Operation) -> Sequence[SSAValue]:
    """Return the operands that become arguments of a region or of a called function."""
    return operands_of(op) if isinstance(op, WhileOp | CallOp) else ()


def aliased_results(func: FuncOp) -> dict[int, int]:
    """Return the arguments with `tf.aliasing_output`, each with the number of the result that takes its memory."""
    found: dict[int, int] = {}
    for index in range(len(func.function_type.inputs)):
        number = attribute_of(func.arg_attrs, index, ALIASED_RESULT)
        if isinstance(number, IntegerAttr) and 0 <= number.value.data < len(func.function_type.outputs):
            found[index] = number.value.data
    return found


def _is_donated(func: FuncOp, index: int) -> bool:
    donor = attribute_of(func.arg_attrs, index, DONOR)
    is_donor = isinstance(donor, IntegerAttr) and donor == BoolAttr.from_bool(True)
    return is_donor or attribute_of(func.arg_attrs, index, ALIASED_RESULT) is not None


@dataclass(frozen=True, slots=True)
class _Flow:
    """A value that another one is equal to: `target` may share the memory of `source`, unless others flow into it.

    `outlives`: whether an op reads the source after the target is dead.
    """

    source: SSAValue
    target: SSAValue
    outlives: bool


def _values_in_memory_of_others(held: frozenset[SSAValue], module: ModuleOp) -> frozenset[SSAValue]:
    """Return the values into which only values flow that outlive them, or that are held or shared themselves."""
    flows = list(_flows(module))
    shared = {flow.target for flow in flows}
    flows = [flow for flow in flows if not (flow.outlives or flow.source in held)]
    is_smaller = True
    while is_smaller:
        others = {flow.target for flow in flows if flow.source not in shared}
        is_smaller = not shared.isdisjoint(others)
        shared -= others
    return frozenset(shared)


def _flows(module: ModuleOp) -> Iterator[_Flow]:
    """Yield the flows into arguments of functions, and into values that loops do not change."""
    functions = functions_of(module)
    last_reads: dict[Block, dict[SSAValue, Operation]] = {}
    for op in pre_order(module):
        block = op.parent
        if not isinstance(op, CallOp | WhileOp) or block is None:
            continue
        if block not in last_reads:
            last_reads[block] = _last_reads(block)
        last = last_reads[block]
        if isinstance(op, CallOp):
            entry = functions[op.callee.string_value()].body.first_block
            pairs = zip(op.operands, () if entry is None else entry.args, strict=entry is not None)
            yield from (_Flow(operand, argument, last.get(operand) not in (None, op)) for operand, argument in pairs)
            continue
        carried = op.body.block.last_op
        assert carried is not None  # verified
        for index, (operand, argument) in enumerate(zip(op.operands, op.body.block.args, strict=True)):
            if carried.operands[index] is argument:  # no iteration changes it
                outlives = last.get(operand) not in (None, op)
                yield from (_Flow(operand, each, outlives) for each in (argument, op.cond.block.args[index]))
                is_unread = op.results[index].first_use is None
                yield _Flow(operand, op.results[index], outlives and is_unread)


def _last_reads(block: Block) -> dict[SSAValue, Operation]:
    """Return the last op of a block that reads each value of the block, directly or in its regions."""
    return {
        value: op
        for op in block.ops
        for reader in op_and_nested_ops(op)
        for value in operands_of(reader)
        if block_of(value) is block
    }


def _overwritten(main: FuncOp) -> dict[Operation, list[SSAValue]]:
    """Return the donated arguments that an op overwrites with the result of the program that takes their memory."""
    end = main.body.block.last_op
    results = [] if end is None else list(end.operands)
    found: dict[Operation, list[SSAValue]] = {}
    for argument, index in _results_of_donors(main, results):
        writer = results[index].owner
        if type(writer) in _IN_PLACE and isinstance(writer, Operation) and writer.parent is main.body.block:
            found.setdefault(writer, []).append(argument)
    return {op: [arg for arg in arguments if arg in op.operands] for op, arguments in found.items()}


def _results_of_donors(main: FuncOp, results: Sequence[SSAValue]) -> Iterator[tuple[BlockArgument, int]]:
    """Yield donated arguments, each with the result that takes its memory: as annotated, else of the same type."""
    arguments, aliased = main.body.block.args, aliased_results(main)
    yield from ((arguments[index], result) for index, result in aliased.items())
    free = [index for index in range(len(results)) if index not in aliased.values()]
    for argument in arguments:
        if argument.index not in aliased and _is_donated(main, argument.index):
            index = next((index for index in free if results[index].type == argument.type), None)
            if index is not None:
                free.remove(index)
                yield argument, index
