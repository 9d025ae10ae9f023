"""Run compiled blocks: the loop over steps that execution on one device and on all devices share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.op_location import located
from sdy.dialects.ir.symbols import functions_of
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.compile import captured_by, compile_block
from sdy.interpreter.devices.replica_groups import ReplicaGroups
from sdy.interpreter.failure import failure, out_of_memory
from sdy.interpreter.kernel import Arrays, KernelContext
from sdy.interpreter.ops.all import KERNELS
from sdy.interpreter.ops.collective_groups import groups_in
from sdy.interpreter.reuse import IN_PLACE
from sdy.interpreter.sums_of_products import CompiledBlock, CompiledOp

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
        pending: list[Operation] = [root]
        seen: set[str] = set()
        while pending:
            op = pending.pop()
            yield from groups_in(op)
            called = {call.callee.string_value() for call in op.walk() if isinstance(call, CallOp)} - seen
            pending += [self.functions[name] for name in sorted(called) if name in self.functions]
            seen |= called

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
