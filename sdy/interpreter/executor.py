"""Compile blocks to kernels and numbered slots, and run them, on one device or on all devices at once.

A slot is cleared after the last use of its value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TupleType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.facts.traits import is_terminator
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.op_location import located
from sdy.dialects.ir.symbols import called_functions, functions_of
from sdy.dialects.ir.walk import reached
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.collectives import CombinableOp
from sdy.dialects.stablehlo.tokens import AsyncDoneOp, GetTupleElementOp, TupleOp
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.arrays.field_types import has_field
from sdy.interpreter.devices.replica_groups import ReplicaGroups
from sdy.interpreter.failure import check_size, failure, out_of_memory
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, leaf_count
from sdy.interpreter.ops import on_field
from sdy.interpreter.ops.all import KERNELS
from sdy.interpreter.ops.collectives import groups_in
from sdy.interpreter.ops.custom_calls import is_opaque
from sdy.interpreter.quantized import has_quantized, kernel_on_quantized
from sdy.interpreter.reuse import IN_PLACE
from sdy.interpreter.sums_of_products import CompiledBlock, CompiledOp, SlotNumbers, with_sums_of_products

# The ops whose operands determine the shape of the result, which only a run knows.
_SIZED_BY_OPERANDS = ("dynamic_broadcast_in_dim", "dynamic_conv", "dynamic_gather", "dynamic_iota", "dynamic_pad",
    "dynamic_reshape", "real_dynamic_slice", "rng")  # fmt: skip


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
    return _sized_by_operands(op, kernel) if op.name.removeprefix("stablehlo.") in _SIZED_BY_OPERANDS else kernel


def _sized_by_operands(op: Operation, kernel: Kernel) -> Kernel:
    """Return the kernel of an op whose operands determine a shape, with a check that the shape is that of its type."""
    (result,) = op.results
    expected = shape_of(result)

    def checked(context: KernelContext, arrays: Arrays) -> Arrays:
        try:
            (array,) = kernel(context, arrays)
        except ValueError as error:
            raise failure("SDY-X018", f"the operands of {op.name} give no shape: {error}") from error
        found = context.local(array)
        pairs = zip(expected, found, strict=False)
        if len(expected) != len(found) or any(size not in (other, DYNAMIC_INDEX) for size, other in pairs):
            declared = ["?" if size == DYNAMIC_INDEX else size for size in expected]
            message = f"the operands of {op.name} give the shape {list(found)}, but its result has {declared}"
            raise failure("SDY-X018", message)
        return (array,)

    return checked


def _kernel_for_types(op: Operation, kernels: KernelTable) -> Kernel | None:
    """Return the kernel of an op: its form for numbers of a finite field if it has any, and they have another one."""
    own = on_field.KERNELS.get(op) if has_field(op) or is_opaque(op) else None
    if own is None or has_field(op):
        return own or kernels.get(op)
    return lambda context, arrays: (own if context.field is not None else kernels.get(op) or own)(context, arrays)


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


DEEPEST_CALL = 100

CompiledBlocks = dict[Block, CompiledBlock]

OpObserver = Callable[[KernelContext, Operation, Arrays], None]
"""Called after every op with its context, the op, and the arrays of its results."""


class Executor:
    """Runs the functions of one module. A block is compiled once, when it first runs.

    `compiled` has the blocks that other executors of the module compiled, and gets those that this one compiles.
    """

    def __init__(
        self,
        module: ModuleOp,
        observer: OpObserver | None = None,
        compiled: CompiledBlocks | None = None,
    ) -> None:
        self.functions = functions_of(module)
        self._module = module
        self._observer = observer
        self._compiled: CompiledBlocks = {} if compiled is None else compiled

    def compiled(self, block: Block) -> CompiledBlock:
        """Return the compiled form of `block`. Raises: SdyError at an op that cannot be run."""
        found = self._compiled.get(block)
        if found is None:
            owner = block.parent_op()
            captured = () if owner is None or isinstance(owner, FuncOp) else captured_by(owner)
            is_observed = self._observer is not None
            found = self._compiled[block] = compile_block(block, captured, KERNELS, op_by_op=is_observed)
        return found

    def function(self, name: str) -> FuncOp:
        """Return the function called `name`. Raises: SdyError SDY-X004 if no function with a body has this name."""
        found = self.functions.get(name)
        if found is None or found.body.first_block is None:
            known = ", ".join(f"@{name}" for name, op in self.functions.items() if op.body.first_block is not None)
            message = f"no function @{name} with a body in this module"
            error = failure("SDY-X004", message, hint=f"functions with a body: {known or 'none'}")
            raise located(error, self._module)
        return found

    def run_block(self, context: KernelContext, block: Block, arguments: Arrays, captured: Arrays) -> Arrays:
        """Run `block` on these arrays and return its results."""
        compiled = self.compiled(block)
        # Clearing a slot releases the memory of its array as soon as no later step reads it.
        slots: list[Array | None] = [None] * compiled.slot_count
        slots[: len(arguments)] = arguments
        slots[len(arguments) : len(arguments) + len(captured)] = captured
        del arguments, captured
        for step in compiled.steps:
            in_place = IN_PLACE.get(type(step.op))
            written = None if in_place is None else in_place(slots, step.operands, step.dead)
            results = self._results_of(step, context, slots) if written is None else (written,)
            if self._observer is not None:
                self._observer(context, step.op, results)
            _store(step, results, slots)
            del written, results  # `reuse` counts references: the slot must hold the only one
        return cast(Arrays, tuple([slots[slot] for slot in compiled.results]))

    def _results_of(self, step: CompiledOp, context: KernelContext, slots: Sequence[Array | None]) -> Arrays:
        arrays = cast(Arrays, tuple([slots[slot] for slot in step.operands]))
        try:
            return step.kernel(context, arrays)
        except SdyError as error:
            raise located(error, step.op) from error
        except MemoryError as error:
            raise located(out_of_memory(error), step.op) from error

    def call(self, context: KernelContext, function: str, arguments: Arrays) -> Arrays:
        """Run a function and return its results. Raises: SdyError SDY-X012 if calls nest too deeply."""
        if context.depth >= DEEPEST_CALL:
            raise failure("SDY-X012", f"calls are nested more than {DEEPEST_CALL} deep at the call of @{function}")
        body = self.function(function).body.block
        return self.run_block(replace(context, depth=context.depth + 1), body, arguments, ())

    def groups_within(self, root: Operation) -> Iterator[ReplicaGroups]:
        """Yield the replica groups of all collectives in `root` and in the functions that it calls."""
        for op in reached([root], lambda caller: called_functions(caller, self.functions)):
            yield from groups_in(op)

    def run(self, context: KernelContext, function: str, arguments: Arrays) -> Arrays:
        """Call the outermost function; invalid floating-point operations give NaN or infinity without a warning."""
        with np.errstate(all="ignore"):
            return self.call(context, function, arguments)


def _store(step: CompiledOp, results: Arrays, slots: list[Array | None]) -> None:
    """Fill the slots of the results and clear the dead slots."""
    for slot, result in zip(step.results, results, strict=True):
        slots[slot] = result
    for slot in step.dead:
        slots[slot] = None
