"""The memory of arguments, results and loops: which values share it, and from when to when it is in use.

The caller of a program holds its arguments, so their memory stays in use to the end. An argument is *donated* if it has
`jax.buffer_donor` or `tf.aliasing_output`: its memory is free after its last read, and a result may be written there.
The memory of the other results is allocated before the program starts.

A value that a loop carries has one buffer before, in and after the loop. The next value is written to the buffer of the
current one, if no op reads that later. Otherwise, it needs memory of its own, and is copied at the end of the
iteration.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from sdy.cost.allocation.fusion import Fusion
from sdy.cost.lifetimes import LifetimeStep, last_reads
from sdy.dialects.facts.traits import has_region_on_elements, terminator_of
from sdy.dialects.host_memory import HostMemory
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.func_attrs import attribute_of
from sdy.dialects.ir.symbols import MAIN, functions_of, main_block, main_function
from sdy.dialects.ir.walk import block_of, op_and_nested_ops, ops_in, pre_order
from sdy.dialects.stablehlo.control import OptimizationBarrierOp, WhileOp
from sdy.dialects.stablehlo.shape import ReshapeOp


@dataclass(slots=True)
class LoopBuffers:
    """The carried values that an op overwrites with their next values, and those that live to the end of a body."""

    overwritten: dict[Operation, list[SSAValue]] = field(default_factory=dict[Operation, list[SSAValue]])
    until_end: dict[Operation, list[SSAValue]] = field(default_factory=dict[Operation, list[SSAValue]])

    def later_values(self) -> Iterator[SSAValue]:
        """Yield the carried values whose memory is in use after the last op that reads them."""
        for values in (*self.overwritten.values(), *self.until_end.values()):
            yield from values

    def add(self, loop: WhileOp, reads: _Reads) -> None:
        """Decide for each carried value of a loop where its next value is stored."""
        block, end = loop.body.block, terminator_of(loop.body)
        for argument, following in zip(block.args, operands_of(end), strict=True):
            op = _stored(following).owner
            if not reads.may_overwrite(argument, following):
                self.until_end.setdefault(end, []).append(argument)
            elif isinstance(op, Operation) and (not keeps_buffers(op) or reads.last(argument) != reads.number(op)):
                self.overwritten.setdefault(op, []).append(argument)


def keeps_buffers(op: Operation) -> bool:
    """Return whether result i of an op has the memory of its operand i."""
    return isinstance(op, WhileOp | OptimizationBarrierOp)


def loop_buffers(module: ModuleOp, fusion: Fusion) -> LoopBuffers:
    """Return the memory of what the loops of a module carry."""
    found, reads = LoopBuffers(), _Reads(fusion, functions_of(module))
    for op in pre_order(module):
        if isinstance(op, WhileOp):
            found.add(op, reads)
    return found


@dataclass(slots=True)
class _Reads:
    """The order of the ops of each block, and the last ones that read its values."""

    fusion: Fusion
    functions: Mapping[str, FuncOp]
    _numbers: dict[Operation, int] = field(default_factory=dict[Operation, int])
    _last: dict[Block, dict[SSAValue, int]] = field(default_factory=dict[Block, dict[SSAValue, int]])

    def number(self, op: Operation) -> int:
        """Return the number of an op in its block, among the blocks whose values `last` was asked about."""
        return self._numbers[op]

    def last(self, argument: SSAValue) -> int:
        """Return the number of the last op that reads an argument of a block; -1 if none does."""
        block = block_of(argument)
        assert block is not None  # of an argument
        if block not in self._last:
            ops = ops_in(block)
            self._numbers.update((op, number) for number, op in enumerate(ops))
            self._last[block] = last_reads([self._step(op, block) for op in ops])
        return self._last[block].get(argument, -1)

    def _step(self, op: Operation, block: Block) -> LifetimeStep[SSAValue]:
        """Return what an op reads, where the end of a block reads nothing."""
        reads = () if op is block.last_op else reads_of(op, block)
        return LifetimeStep(reads, op.results, is_fused=self.fusion.is_fused(op))

    def may_overwrite(self, argument: SSAValue, value: SSAValue, called: frozenset[str] = frozenset()) -> bool:
        """Return whether an op that computes a value of a block may store it in the memory of an argument.

        A compiler inlines calls, so the op may be in the function that is called.
        """
        read, stored = self.last(argument), _stored(value)
        if not isinstance(stored, OpResult) or stored.op.parent is not block_of(argument):
            return False
        op, number = stored.op, self.number(stored.op)
        if number != read or not isinstance(op, CallOp) or self.fusion.is_kernel_call(op):
            return number > read or (number == read and (keeps_buffers(op) or self.fusion.is_in_place(op)))
        callee = op.callee.string_value()
        block = self.functions[callee].body.block
        if block.last_op is None or callee in called:
            return False
        returned = operands_of(block.last_op)[stored.index]
        passed = (inner for inner, operand in zip(block.args, operands_of(op), strict=True) if operand is argument)
        return all(self.may_overwrite(inner, returned, called | {callee}) for inner in passed)


def reads_of(op: Operation, block: Block) -> list[SSAValue]:
    """Return the values of a block that an op reads, including reads in its regions."""
    readers = op_and_nested_ops(op) if op.regions else (op,)
    return [value for reader in readers for value in operands_of(reader) if block_of(value) is block]


def _stored(value: SSAValue) -> SSAValue:
    """Return the value that is stored, before it is reshaped."""
    while isinstance(value, OpResult) and isinstance(value.op, ReshapeOp):
        value = value.op.operand
    return value


DONOR, ALIASED_RESULT = "jax.buffer_donor", "tf.aliasing_output"


class Buffers:
    """The memory of the values of a module: which values need none of their own, and which lives differ from the reads.

    `is_compiled`: whether a compiler fuses ops and allocates all memory before the run, as XLA does. Otherwise, ops run
    one by one, as in the interpreter.
    """

    def __init__(self, module: ModuleOp, *, is_compiled: bool = True) -> None:
        functions = functions_of(module)
        self._held: frozenset[SSAValue] = frozenset()
        self._main: Block | None = None
        self._overwritten: dict[Operation, list[SSAValue]] = {}
        self.fusion = Fusion(functions, is_compiled=is_compiled)
        self._loops = loop_buffers(module, self.fusion) if is_compiled else LoopBuffers()
        self._allocated: list[SSAValue] = []
        if len(functions) == 1 or MAIN in functions:  # a library of functions has no arguments that a caller holds
            main, self._main = main_function(module), main_block(module)
            self._held = frozenset(arg for arg in self._main.args if not _is_donated(main, arg.index))
            self._place_results(main)
        later = frozenset((*self._allocated, *self._loops.later_values()))
        self._host = HostMemory(module) if is_compiled else None  # the interpreter keeps all values in one memory
        self._shared = _values_in_memory_of_others(self._held, later, module)

    def _place_results(self, main: FuncOp) -> None:
        """Find the donated arguments that an op overwrites with a result, and the values in memory of other results.

        A loop starts with its operand in the memory of its result. A result that is an argument is not copied.
        """
        results, of_donors = terminator_of(main.body).operands, set[int]()
        for argument, index in _results_of_donors(main, results):
            of_donors.add(index)
            writer = results[index].owner
            if isinstance(writer, Operation) and self.fusion.is_in_place(writer) and writer.parent is main.body.block:
                self._overwritten.setdefault(writer, []).append(argument)
        if self.fusion.is_compiled:
            first = (_first_in_memory(result) for index, result in enumerate(results) if index not in of_donors)
            self._allocated = list(dict.fromkeys(value for value in first if isinstance(value, OpResult)))

    def is_shared(self, value: SSAValue) -> bool:
        """Return whether a value needs no memory of the device.

        It is equal to a value that lives on, it is fused, it is a scalar of a reducer, or the host stores it. Arguments
        of called functions, and values that a loop carries but does not change, are equal to others.
        """
        if self._host is not None and (self._host.holds(value) or self._host.is_stack(value)):
            return True
        if value in self._shared or (type(value) is OpResult and self.fusion.is_fused(value.op)):
            return True
        block = block_of(value)
        if not self.fusion.is_compiled or block is None or block is self._main:
            return False
        return has_region_on_elements(block.parent_op()) or self.fusion.is_in_kernel(block)

    def stores_inside(self, op: Operation) -> bool:
        """Return whether values in the regions of an op, or in the function that it calls, are stored."""
        if type(op) is CallOp:
            return not self.fusion.is_kernel_call(op)
        return bool(op.regions) and not (self.fusion.is_compiled and has_region_on_elements(op))

    def allocated_results(self, block: Block) -> Sequence[SSAValue]:
        """Return the values of a block that are results of the program and have memory from the start."""
        return self._allocated if block is self._main else ()

    def reads(self, op: Operation, block: Block) -> list[SSAValue]:
        """Return the values of a block that an op reads, including reads in its regions.

        An op also reads the values whose memory must not be taken until it runs: the return of the main function reads
        the held arguments, and the op that computes the next value of a loop reads the current one.
        """
        found = [*reads_of(op, block), *self._loops.overwritten.get(op, ()), *self._loops.until_end.get(op, ())]
        is_end = block is self._main and op is block.last_op
        return [*found, *self._held, *self._allocated] if is_end else found

    def region_inputs(self, op: Operation) -> Sequence[SSAValue]:
        """Return the operands that become arguments of a region or of a called function with buffers of its own."""
        has_inputs = type(op) is WhileOp or (type(op) is CallOp and not self.fusion.is_kernel_call(op))
        return operands_of(op) if has_inputs else ()

    def overwritten(self, op: Operation) -> Sequence[SSAValue]:
        """Return the values whose memory the results take over, unless another op reads them later."""
        carried = operands_of(op) if keeps_buffers(op) else ()
        return (*carried, *self._overwritten.get(op, ()), *self._loops.overwritten.get(op, ()))


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


def _values_in_memory_of_others(
    held: frozenset[SSAValue], later: frozenset[SSAValue], module: ModuleOp
) -> frozenset[SSAValue]:
    """Return the values into which only values flow that outlive them, or that are held or shared themselves.

    `later` are values that live on after the last op that reads them.
    """
    flows = list(_flows(module, later))
    shared = {flow.target for flow in flows}
    flows = [flow for flow in flows if not (flow.outlives or flow.source in held)]
    is_smaller = True
    while is_smaller:
        others = {flow.target for flow in flows if flow.source not in shared}
        is_smaller = not shared.isdisjoint(others)
        shared -= others
    return frozenset(shared)


def _flows(module: ModuleOp, later: frozenset[SSAValue]) -> Iterator[_Flow]:
    """Yield the flows into arguments of functions, and into values that loops do not change."""
    functions, last_reads = functions_of(module), cache(_last_reads)
    for op in pre_order(module):
        if not isinstance(op, CallOp | WhileOp) or op.parent is None:
            continue
        is_only_reader = all(operand.has_one_use() for operand in op.operands)
        last = {} if is_only_reader else last_reads(op.parent)
        outlives = [operand in later or last.get(operand) not in (None, op) for operand in op.operands]
        if isinstance(op, CallOp):
            entry = functions[op.callee.string_value()].body.first_block
            yield from map(_Flow, op.operands, () if entry is None else entry.args, outlives)
            continue
        returned, inside = terminator_of(op.body).operands, (op.body.block.args, op.cond.block.args)
        for index, operand in enumerate(op.operands):
            if returned[index] is inside[0][index]:  # no iteration changes it
                yield from (_Flow(operand, arguments[index], outlives[index]) for arguments in inside)
                is_unread = op.results[index].first_use is None
                yield _Flow(operand, op.results[index], outlives[index] and is_unread)


def _last_reads(block: Block) -> dict[SSAValue, Operation]:
    """Return the last op of a block that reads each value of the block, directly or in its regions."""
    return {value: op for op in ops_in(block) for value in reads_of(op, block)}


def _first_in_memory(value: SSAValue) -> SSAValue:
    while isinstance(value, OpResult):
        op = value.op
        if isinstance(op, ReshapeOp):
            value = op.operand
        elif keeps_buffers(op) and isinstance(operand := op.operands[value.index], OpResult):
            if any(use.operation is not op for use in operand.uses):
                break
            value = operand
        else:
            break
    return value


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


V = TypeVar("V")
MOST_LARGER = 2  # times the size of a value, the size of the result in whose memory it is stored


def stored_in_results(
    results: Sequence[V], steps: Sequence[LifetimeStep[V]], last: Mapping[V, int], bytes_of: Callable[[V], int]
) -> list[V]:
    """Return the values that are stored in idle memory of results. `last` are the last reads of the steps.

    What enters or leaves regions is not among them, because the regions count its memory.

    XLA allocates results for the length of a run, and assigns other buffers to the same memory while it is idle. A
    value takes the smallest idle result that is large enough, for its entire life. It must fill at least half of that,
    so that small values do not take the memory that a large one needs.
    """
    excluded = {value for step in steps for value in (*step.region_inputs, *step.overwritten)}.union(results)
    first = {value: number for number, step in enumerate(steps) for value in step.produces}
    # The size of each idle result, and the last step before it is needed. A step in place may write over what it reads
    # last, any other step only over what was read before.
    idle = sorted((bytes_of(value), first[value] - (not steps[first[value]].is_in_place)) for value in results)
    taken: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)  # by the step after which they are idle again
    released = -1
    found: list[V] = []
    for number, step in enumerate(steps):
        while released < number - (not step.is_in_place):
            released += 1
            for result in taken.pop(released, ()):
                insort(idle, result)
        for value in () if step.inside or step.overwritten else step.produces:
            size, until = bytes_of(value), last.get(value, number)
            result = _taken(idle, size, until) if size and value not in excluded else None
            if result is not None:
                taken[until].append(result)
                found.append(value)
    return found


def _taken(idle: list[tuple[int, int]], size: int, until: int) -> tuple[int, int] | None:
    """Take the smallest idle result that is large enough for a value that lives until a step; None if none fits."""
    index = bisect_left(idle, (size, until))
    while index < len(idle) and idle[index][0] <= MOST_LARGER * size:
        if idle[index][1] >= until:
            return idle.pop(index)
        index = bisect_left(idle, (idle[index][0], until))
    return None
