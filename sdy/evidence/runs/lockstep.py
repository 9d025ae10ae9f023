"""The op at which two programs part, found by following a wrong result upwards in both of them at once.

Values of the devices are compared with those that stand at the same place of the program, so that small numbers, and
elements of another place, tell too. This needs the same ops in both programs; between them, the local program may have
ops that move elements, communicate, or compute indices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, OpResult, SSAValue

from sdy.dialects.data_flow import has_data_flow_edges, index_of, op_of, owner_of_target, sources_of
from sdy.dialects.facts.traits import moves_elements, passes_through, selects_elements, terminator_of
from sdy.dialects.ir.symbols import calls_of, functions_of
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.collectives import is_grouped
from sdy.dialects.stablehlo.control import WhileOp
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.arrays.field_types import equal_elements
from sdy.interpreter.devices.values import DeviceArray
from sdy.interpreter.kernel import Arrays, KernelContext

MOST_ELEMENTS = 30_000_000  # of the values of a run that are kept
MOST_PLACES = 512  # at which a block is looked for: small numbers stand at many

Bools = NDArray[np.bool_]
Pair = tuple[SSAValue, SSAValue]  # a value of the local program, and the one that stands at its place in the program


class RunValues:
    """The values of a run of a module: those of the last time that an op ran, with leading dims for the devices."""

    def __init__(self, module: ModuleOp) -> None:
        self.module = module
        self.arrays: dict[SSAValue, DeviceArray] = {}
        self.times: Counter[Operation] = Counter()  # that an op ran
        self._functions = functions_of(module)
        self._count = 0

    def observe(self, context: KernelContext, op: Operation, results: Arrays) -> None:
        """Keep the results of an op; not of ops in the body of a reduction, which run once for each element."""
        self.times[op] += 1
        self._count += sum(array.size for array in results)
        if context.grid is not None and len(results) == len(op.results) and self.is_complete:
            held = (DeviceArray(array, context.grid) for array in results)
            self.arrays.update(zip(op.results, held, strict=True))

    @property
    def is_complete(self) -> bool:
        """Return whether all values were kept."""
        return self._count <= MOST_ELEMENTS

    def sources(self, value: SSAValue) -> Sequence[SSAValue]:
        """Return the values of which a value is a copy: for a call, what the function returns."""
        op = op_of(value)
        if isinstance(value, OpResult) and passes_through(value.op):
            return (value.op.operands[value.index],)
        if isinstance(op, CallOp):
            return (terminator_of(self._functions[op.callee.root_reference.data].body).operands[index_of(value)],)
        if isinstance(op, FuncOp):
            calls = calls_of(self.module, op)
            return (calls[0].operands[index_of(value)],) if len(calls) == 1 else ()
        owner = owner_of_target(value) if has_data_flow_edges(op) else None
        return () if owner is None else [each.value for each in sources_of(owner)]


class Followed(Enum):
    """The relation of a local value to the original one that stands at its place, if no op between is to blame."""

    RIGHT = auto()  # each device holds a part of the original one
    UNRELATED = auto()


class Lockstep:
    """Both programs after a run of each."""

    def __init__(self, program: RunValues, devices: RunValues) -> None:
        self.program, self.devices = program, devices
        self._found: dict[Pair, Operation | Followed] = {}
        self._moves: set[Operation] = set()  # that are blamed because nothing above them can be

    def followed(self, value: SSAValue, original: SSAValue) -> Operation | Followed:
        """Return the op that makes a local value wrong, from operands that are right, if both can be followed to it."""
        pair = value, original
        if pair not in self._found:
            self._found[pair] = Followed.RIGHT  # until more is known: in a loop, values follow from themselves
            self._found[pair] = Followed.RIGHT if self._is_part(*pair) else self._follow(*pair)
        return self._found[pair]

    def _follow(self, value: SSAValue, original: SSAValue) -> Operation | Followed:
        """Follow a local value to the operands of its op, of the original op, or of both."""
        op, other = op_of(value), op_of(original)
        sources, originals = self.devices.sources(value), self.program.sources(original)
        if isinstance(op, FuncOp) and isinstance(other, FuncOp) and not sources:
            return Followed.RIGHT if index_of(value) == index_of(original) else Followed.UNRELATED
        if isinstance(op, WhileOp) and isinstance(other, WhileOp) and (end := self._condition(op, other)) is not None:
            return end
        if type(op) is type(other):
            return self._first([*zip(sources or _data(op), originals or _data(other), strict=False)], value)
        if len(originals) == 1:
            return self.followed(value, originals[0])
        if not isinstance(value, OpResult):
            return self.followed(sources[0], original) if len(sources) == 1 else Followed.UNRELATED
        if sources or moves_elements(value.op) or is_grouped(value.op):
            return self._before_move(value.op, sources[:1] or _data(value.op), original)
        if isinstance(original, OpResult) and moves_elements(original.op):
            return self.followed(value, original.op.operands[0])
        return Followed.UNRELATED

    def _condition(self, op: WhileOp, other: WhileOp) -> Operation | None:
        """Return what is wrong in the condition of a loop that runs more or fewer times than that of the program."""
        condition, original = (terminator_of(each.cond).operands[0].owner for each in (op, other))
        if not isinstance(condition, Operation) or not isinstance(original, Operation):
            return None
        if self.devices.times[condition] == self.program.times[original]:
            return None
        pairs = zip(condition.operands, original.operands, strict=False)
        return _op_in([self.followed(*pair) for pair in pairs]) or condition

    def _first(self, pairs: Sequence[Pair], value: SSAValue) -> Operation | Followed:
        """Return what is wrong above a value whose op both programs have: the op itself, if one operand is right."""
        states = [self.followed(*pair) for pair in pairs]
        wrong = _op_in(states)
        if wrong is not None:
            return wrong
        return value.op if Followed.RIGHT in states and isinstance(value, OpResult) else Followed.UNRELATED

    def _before_move(self, op: Operation, operands: Sequence[SSAValue], original: SSAValue) -> Operation | Followed:
        """Return what is wrong above an op that the program does not have, and that moves elements: at last itself.

        A sum of parts that are right need not be: the parts equal no value of the program.
        """
        wrong = _op_in([self.followed(operand, original) for operand in operands])
        is_combined = is_grouped(op) and bool(op.regions) and wrong is operands[0].owner
        if wrong is not None and wrong not in self._moves and not is_combined:
            return wrong
        self._moves.add(op)
        return op

    def _is_part(self, value: SSAValue, original: SSAValue) -> bool:
        """Return whether each device holds a window of the original value."""
        if value not in self.devices.arrays or original not in self.program.arrays:
            return False
        held, whole = self.devices.arrays[value], self.program.arrays[original].array
        if len(held.local_shape) != whole.ndim or held.array.dtype != whole.dtype:
            return False
        blocks = (held.array[place] for place in np.ndindex(*held.array.shape[: held.grid.rank]))
        return all(_is_window(block, whole) for block in blocks)


def _op_in(states: Sequence[Operation | Followed]) -> Operation | None:
    return next((each for each in states if isinstance(each, Operation)), None)


def _data(op: Operation | None) -> Sequence[SSAValue]:
    """Return the operands of an op whose elements it uses: for one that moves elements, not the places."""
    if op is None or not moves_elements(op):
        return () if op is None else op.operands
    if selects_elements(type(op)):
        return op.operands[:1]
    return [each for each in op.operands if each.type == op.results[0].type or shape_of(each)]


def _is_window(block: Array, whole: Array) -> bool:
    """Return whether an array is found in another one, as consecutive elements along each dim."""
    room = [size - inner + 1 for size, inner in zip(whole.shape, block.shape, strict=True)]
    if not block.size or min(room, default=1) < 1:
        return not block.size
    first = whole[tuple(slice(each) for each in room)]
    places = np.argwhere(equal_elements(first, block[(0,) * block.ndim]))[:MOST_PLACES]
    ends = places + block.shape
    windows = (tuple(map(slice, start, end)) for start, end in zip(places, ends, strict=True))
    return any(equal_elements(whole[window], block).all() for window in windows)
