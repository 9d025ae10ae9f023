"""The ops of a program in the order in which they run, and which of them read each value.

Calls are expanded, and values that a loop passes through unchanged are those outside of it, so that a reader is found
wherever the program is split into functions. Values are numbers: a function that is called twice has two numbers each.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from itertools import count
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from sdy.cost.allocation.fusion import is_shape_change
from sdy.cost.executions import Visit, visits
from sdy.dialects.facts.traits import is_terminator, passes_through, terminator_of
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.sharded_types import static_shape, tensor_bytes
from sdy.dialects.stablehlo.calls import is_identity_call
from sdy.dialects.stablehlo.control import ControlFlowOp, WhileOp


@dataclass(slots=True, eq=False)
class Step:
    """One run of an op, at a place of the expanded program. `frame` is the innermost region of control flow around it.

    `is_boundary`: the op ends a region, or has regions of control flow. `carried` are the tensors that change in each
    iteration of the loop that it is.
    """

    op: Operation
    number: int  # of the visit
    frame: int
    operands: tuple[int, ...]
    results: tuple[int, ...]
    is_boundary: bool = False
    carried: tuple[int, ...] = ()


@dataclass(slots=True)
class ValueFlow:
    """The steps of a program in order, and for each value its type, its producer and its readers.

    A value in `memory_of` is stored in the memory of another one, of another shape; its readers are those of that one.
    `views` has the steps that only give the memory of a value another shape.
    """

    steps: list[Step] = field(default_factory=list[Step])
    types: list[Attribute] = field(default_factory=list[Attribute])
    producers: dict[int, Step] = field(default_factory=dict[int, Step])
    readers: dict[int, list[Step]] = field(default_factory=dict[int, list[Step]])
    memory_of: dict[int, int] = field(default_factory=dict[int, int])
    views: dict[int, list[Step]] = field(default_factory=dict[int, list[Step]])
    visit_count: int = 0
    _numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def bytes_of(self, value: int) -> int:
        """Return the bytes of a value."""
        return tensor_bytes(self.types[value])

    def elements_of(self, value: int) -> int:
        """Return the number of elements of a value; 0 if its shape is not static."""
        shape = static_shape(self.types[value])
        return 0 if shape is None else prod(shape)

    def memory(self, value: int) -> int:
        """Return the value in whose memory a value is stored."""
        return self.memory_of.get(value, value)

    def new(self, value: SSAValue) -> int:
        """Give a value the next number."""
        self.types.append(value.type)
        self._numbers[value] = len(self.types) - 1
        return len(self.types) - 1

    def same(self, value: SSAValue, other: SSAValue) -> None:
        """Give a value the number of an equal one."""
        self._numbers[value] = self.number(other)

    def number(self, value: SSAValue) -> int:
        """Return the number of a value."""
        found = self._numbers.get(value)
        return self.new(value) if found is None else found

    def values_with(self, numbers: Set[int]) -> frozenset[SSAValue]:
        """Return the values that have one of these numbers; in a function that is called often, in the last call."""
        return frozenset(value for value, number in self._numbers.items() if number in numbers)

    def add(self, step: Step) -> None:
        """Add a step, which reads its operands."""
        self.steps.append(step)
        for value in step.results:
            self.producers[value] = step
        if is_view(step.op):
            memory = self.memory_of[step.results[0]] = self.memory(step.operands[0])
            self.views.setdefault(memory, []).append(step)
            return
        for value in dict.fromkeys(map(self.memory, step.operands)):
            self.readers.setdefault(value, []).append(step)


def is_view(op: Operation) -> bool:
    """Return whether the result of an op has the memory of its operand, perhaps in another shape."""
    return is_shape_change(op) or (passes_through(op) and len(op.operands) == 1) or is_identity_call(op)


def value_flow(module: ModuleOp) -> ValueFlow:
    """Return the steps of all visits of `sdy.cost.executions.visits`, apart from ops inside of reductions and the like.

    Raises: SdyError SDY-T115 if a function calls itself.
    """
    return _Reader(module).flow


class _Reader:
    """Reads the visits of a module one after the other."""

    def __init__(self, module: ModuleOp) -> None:
        self.flow = ValueFlow()
        self._functions = functions_of(module)
        self._frames = [0]
        self._new_frames = count(1)
        self._depth = 0  # of calls
        for number, visit in enumerate(visits(module)):
            self.flow.visit_count = number + 1
            self._read(number, visit)

    def _read(self, number: int, visit: Visit) -> None:
        op = visit.op
        match op:
            case CallOp() if len(self._functions[op.callee.string_value()].body.blocks) == 1:
                self._call(op, visit.is_left)
            case WhileOp():
                self._loop(op, number, visit.is_left)
            case _ if isinstance(op, ControlFlowOp):
                self._branch(op, number, visit.is_left)
            case _ if visit.is_left or not isinstance(op.parent_op(), FuncOp | ControlFlowOp):
                return
            case ReturnOp() if self._depth:
                return  # the values are those of the call
            case _:
                self._step(op, number, is_terminator(op) and not op.results)

    def _call(self, op: CallOp, is_left: bool) -> None:
        block = self._functions[op.callee.string_value()].body.block
        if not is_left:
            self._depth += 1
            for operand, argument in zip(operands_of(op), block.args, strict=True):
                self.flow.same(argument, operand)
            return
        self._depth -= 1
        end = block.last_op
        for result, returned in zip(op.results, () if end is None else operands_of(end), strict=True):
            self.flow.same(result, returned)

    def _loop(self, op: WhileOp, number: int, is_left: bool) -> None:
        returned = terminator_of(op.body).operands
        columns = [*zip(op.operands, op.results, op.body.block.args, op.cond.block.args, returned, strict=True)]
        if is_left:
            self._frames.pop()
            for operand, result, argument, _, last in columns:
                if last is argument:
                    self.flow.same(result, operand)
                else:
                    self.flow.new(result)
            return
        changed = tuple(self.flow.number(operand) for operand, _, argument, _, last in columns if last is not argument)
        step = Step(op, number, self._frames[-1], changed, (), is_boundary=True)
        self.flow.add(step)
        self._frames.append(next(self._new_frames))
        for operand, _, argument, tested, last in columns:
            if last is argument:
                self.flow.same(argument, operand)
                self.flow.same(tested, operand)
            else:
                arrived = self.flow.new(argument)
                self.flow.new(tested)
                step.carried += () if static_shape(argument.type) == () else (arrived,)

    def _branch(self, op: Operation, number: int, is_left: bool) -> None:
        if is_left:
            self._frames.pop()
            for result in op.results:
                self.flow.new(result)
            return
        self._step(op, number, is_boundary=True, has_results=False)
        self._frames.append(next(self._new_frames))

    def _step(self, op: Operation, number: int, is_boundary: bool, has_results: bool = True) -> None:
        operands = tuple(map(self.flow.number, operands_of(op)))
        results = tuple(map(self.flow.new, op.results)) if has_results else ()
        self.flow.add(Step(op, number, self._frames[-1], operands, results, is_boundary))
