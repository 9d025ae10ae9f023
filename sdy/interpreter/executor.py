"""Runs compiled blocks: the loop over steps that the one-device and the all-devices executor share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.symbols import functions_of
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.compile import captured_by, compile_block
from sdy.interpreter.compiled_block import CompiledBlock, Step
from sdy.interpreter.devices.replica_groups import ReplicaGroups
from sdy.interpreter.failure import failure, located
from sdy.interpreter.kernel import Arrays, KernelContext
from sdy.interpreter.ops.all import KERNELS
from sdy.interpreter.ops.collective_groups import groups_in
from sdy.interpreter.reuse import UFUNCS, reused

DEEPEST_CALL = 100

Observer = Callable[[KernelContext, Operation, Arrays], None]
"""What is told of every op after it has run: where, which, and the arrays of its results."""


class Executor:
    """Runs the functions of one module. Blocks are compiled when they are first run, and once."""

    def __init__(self, module: ModuleOp, observer: Observer | None = None) -> None:
        self.functions = functions_of(module)
        self._observer = observer
        self._blocks: dict[Block, CompiledBlock] = {}

    def compiled(self, block: Block) -> CompiledBlock:
        """The compiled form of `block`. Raises: SdyError where one of its ops cannot be run."""
        found = self._blocks.get(block)
        if found is None:
            owner = block.parent_op()
            captured = () if owner is None or isinstance(owner, FuncOp) else captured_by(owner)
            is_observed = self._observer is not None
            found = self._blocks[block] = compile_block(block, captured, KERNELS, op_by_op=is_observed)
        return found

    def function(self, name: str) -> FuncOp:
        """The function of this name, with a body. Raises: SdyError SDY-X004."""
        found = self.functions.get(name)
        if found is None or found.body.first_block is None:
            known = ", ".join(f"@{name}" for name, op in self.functions.items() if op.body.first_block is not None)
            raise failure("SDY-X004", f"no function @{name} has a body here", hint=f"there are: {known or 'none'}")
        return found

    def run_block(self, context: KernelContext, block: Block, arguments: Arrays, captured: Arrays) -> Arrays:
        """What `block` returns on these arrays."""
        compiled = self.compiled(block)
        # Cleared slots give memory back as soon as nothing reads an array any more.
        slots: list[Array | None] = [None] * compiled.slot_count
        slots[: len(arguments)] = arguments
        slots[len(arguments) : len(arguments) + len(captured)] = captured
        del arguments, captured
        for step in compiled.steps:
            ufunc = UFUNCS.get(type(step.op))
            written = None if ufunc is None else reused(ufunc, slots, step.operands, step.dead)
            results = self._results_of(step, context, slots) if written is None else (written,)
            if self._observer is not None:
                self._observer(context, step.op, results)
            _store(step, results, slots)
            del written, results  # or the next step would not find that a slot alone has them
        return cast(Arrays, tuple([slots[slot] for slot in compiled.results]))

    def _results_of(self, step: Step, context: KernelContext, slots: Sequence[Array | None]) -> Arrays:
        arrays = cast(Arrays, tuple([slots[slot] for slot in step.operands]))
        try:
            return step.kernel(context, arrays)
        except SdyError as error:
            raise located(error, step.op) from error

    def call(self, context: KernelContext, function: str, arguments: Arrays) -> Arrays:
        """What the function returns on these arrays. Raises: SdyError SDY-X012 where calls nest without end."""
        if context.depth >= DEEPEST_CALL:
            raise failure("SDY-X012", f"more than {DEEPEST_CALL} calls are open at the call of @{function}")
        body = self.function(function).body.block
        return self.run_block(replace(context, depth=context.depth + 1), body, arguments, ())

    def groups_within(self, root: Operation) -> Iterator[ReplicaGroups]:
        """The replica groups of all collectives in `root`, and in the functions that are called there."""
        pending: list[Operation] = [root]
        seen: set[str] = set()
        while pending:
            op = pending.pop()
            yield from groups_in(op)
            called = {call.callee.string_value() for call in op.walk() if isinstance(call, CallOp)} - seen
            pending += [self.functions[name] for name in sorted(called) if name in self.functions]
            seen |= called

    def run(self, context: KernelContext, function: str, arguments: Arrays) -> Arrays:
        """`call` for the outermost function: invalid floating-point operations give NaN and infinity in silence."""
        with np.errstate(all="ignore"):
            return self.call(context, function, arguments)


def _store(step: Step, results: Arrays, slots: list[Array | None]) -> None:
    """Fill the slots of the results, and clear those that nothing reads any more."""
    for slot, result in zip(step.results, results, strict=True):
        slots[slot] = result
    for slot in step.dead:
        slots[slot] = None
