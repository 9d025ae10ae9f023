"""Compile a block: one kernel per op, values as numbered slots, slots cleared after their last use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Block, Operation, SSAValue

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.facts.traits import is_terminator
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.op_location import located
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.collectives import CombinableOp
from sdy.dialects.stablehlo.tokens import AsyncDoneOp, GetTupleElementOp, TupleOp
from sdy.interpreter.arrays.field_types import has_field
from sdy.interpreter.failure import check_size, failure, out_of_memory
from sdy.interpreter.kernel import Kernel, KernelTable, leaf_count
from sdy.interpreter.ops import on_field
from sdy.interpreter.quantized import has_quantized, kernel_on_quantized
from sdy.interpreter.sums_of_products import CompiledBlock, CompiledOp, SlotNumbers, with_sums_of_products


def captured_by(op: Operation) -> tuple[SSAValue, ...]:
    """Return the values defined outside the op that its regions use, in order of first use."""
    if not op.regions:
        return ()
    inner = {value for nested in _nested(op) for value in nested.results}
    inner |= {
        value for nested in op.walk() for region in nested.regions for block in region.blocks for value in block.args
    }
    used = dict.fromkeys(value for nested in _nested(op) for value in nested.operands)
    return tuple(value for value in used if value not in inner)


@garbage_collection_paused()
def compile_block(
    block: Block, captured: Sequence[SSAValue], kernels: KernelTable, *, op_by_op: bool = False
) -> CompiledBlock:
    """Compile `block`, whose ops may use the values `captured` of enclosing blocks.

    `op_by_op` keeps one step per op in program order, even if that takes more memory.
    Raises: SdyError at an op that has no kernel, or that its kernel does not support.
    """
    numbering = _Numbering()
    for value in (*block.args, *captured):
        numbering.add(value)
    steps: list[CompiledOp] = []
    results: SlotNumbers = ()
    for op in block.ops:
        if is_terminator(op):
            results = numbering.slots_of(op.operands)
        elif not numbering.alias(op):
            operands = numbering.slots_of((*op.operands, *captured_by(op)))
            kernel = _kernel_of(op, kernels)
            steps.append(CompiledOp(op, kernel, operands, numbering.add_all(op.results), dead=()))
    if not op_by_op:
        steps = with_sums_of_products(split_collectives(steps), results)
    return CompiledBlock(
        argument_count=sum(leaf_count(value.type) for value in block.args),
        captured_count=sum(leaf_count(value.type) for value in captured),
        slot_count=numbering.count,
        steps=_with_dead_slots(steps, results),
        results=results,
    )


class _Numbering:
    """Assigns slots to the values of a block."""

    def __init__(self) -> None:
        self.count = 0
        self._slots: dict[SSAValue, SlotNumbers] = {}

    def add(self, value: SSAValue) -> SlotNumbers:
        slots = tuple(range(self.count, self.count + leaf_count(value.type)))
        self.count += len(slots)
        self._slots[value] = slots
        return slots

    def add_all(self, values: Sequence[SSAValue]) -> SlotNumbers:
        return tuple(slot for value in values for slot in self.add(value))

    def slots_of(self, values: Sequence[SSAValue]) -> SlotNumbers:
        return tuple(slot for value in values for slot in self._slots[value])

    def alias(self, op: Operation) -> bool:
        """Return whether the op only packs or unpacks values, and let its results share the slots of its operands."""
        match op:
            case TupleOp():
                self._slots[op.result] = self.slots_of(op.operands)
            case GetTupleElementOp():
                elements = op.operand.type.types if isinstance(op.operand.type, TupleType) else ()
                index = op.index.value.data
                first = sum(map(leaf_count, elements.data[:index])) if elements else 0
                self._slots[op.result] = self._slots[op.operand][first : first + leaf_count(op.result.type)]
            case AsyncDoneOp():
                slots = iter(self._slots[op.operand])
                for result in op.result:
                    self._slots[result] = tuple(next(slots) for _ in range(leaf_count(result.type)))
            case _:
                return False
        return True


def _kernel_of(op: Operation, kernels: KernelTable) -> Kernel:
    try:
        for result in op.results:
            check_size(static_shape(result.type) or ())
        kernel = kernel_on_quantized(op, kernels) if has_quantized(op) else _kernel_for_types(op, kernels)
        if kernel is None:
            raise failure(
                "SDY-X002",
                f"the interpreter cannot run {op.name}",
                hint="lower or remove the op, or give it a kernel: sdy.register_dialect(..., kernels=...)",
            )
    except SdyError as error:
        raise located(error, op) from error
    except MemoryError as error:
        raise located(out_of_memory(error), op) from error
    return kernel


def _kernel_for_types(op: Operation, kernels: KernelTable) -> Kernel | None:
    """Return the kernel of an op: its form for numbers of a finite field if it has any, and they have another one."""
    own = on_field.KERNELS.get(op) if has_field(op) else None
    return kernels.get(op) if own is None else own


def _with_dead_slots(steps: Sequence[CompiledOp], results: SlotNumbers) -> tuple[CompiledOp, ...]:
    """Return the steps with `dead` set: slots that no later step reads and that are not results of the block."""
    live = set(results)
    backwards: list[CompiledOp] = []
    for step in reversed(steps):
        dead = tuple(dict.fromkeys(slot for slot in (*step.operands, *step.results) if slot not in live))
        live.update(dead)
        backwards.append(replace(step, dead=dead))
    return tuple(reversed(backwards))


def _nested(op: Operation) -> Iterator[Operation]:
    """Yield the ops nested in `op`, without `op` itself."""
    return (nested for nested in op.walk() if nested is not op)


def split_collectives(steps: Sequence[CompiledOp]) -> list[CompiledOp]:
    """Return the steps of a block reordered, with one step per operand of a collective of several operands.

        before  a = dot ..          after  a = dot ..
                b = dot ..                 c = all_reduce(a)
                c, d = all_reduce(a, b)    b = dot ..
                                           d = all_reduce(b)

    When all devices run at once, a partial value takes memory for every device and its sum takes memory for one: the
    split frees the partial value early. The results are the same: a collective treats each operand separately.
    """
    ready_after: dict[int, int] = {}  # slot -> index of the original step after which it is filled
    ordered: list[tuple[int, CompiledOp]] = []
    for index, step in enumerate(steps):
        for part in _parts(step):
            after = index if part is step else ready_after.get(part.operands[0], -1)
            ready_after.update(dict.fromkeys(part.results, after))
            ordered.append((after, part))
    return [step for _, step in sorted(ordered, key=itemgetter(0))]  # stable: a step stays after its producers


def _parts(step: CompiledOp) -> Iterator[CompiledOp]:
    # A computation that captures values has them as further operands; such collectives stay as they are.
    if isinstance(step.op, CombinableOp) and len(step.operands) == len(step.results) > 1:
        for operand, result in zip(step.operands, step.results, strict=True):
            yield replace(step, operands=(operand,), results=(result,))
    else:
        yield step
