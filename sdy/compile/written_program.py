"""A program as the user wrote it: a module, where it comes from, and the options by which it is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Self

from typing_extensions import TypeVar
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.compile.compiled import Compiled, compiled, unfolded
from sdy.compile.options import DEFAULT, CompileOptions
from sdy.compile.origin import Origin
from sdy.compile.propagated import PropagatedProgram, propagated_program
from sdy.cost.memory import is_worth_its_memory
from sdy.cost.traffic import sends_of
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import make_context
from sdy.passes.manager.pass_options import pass_of, passes_of

if TYPE_CHECKING:
    from sdy.cost.hardware import Hardware
    from sdy.cost.program_cost import ProgramCost
    from sdy.interpreter.arrays.element_types import Array

LARGE = 1500  # ops
LARGE_AS_JIT = 4000  # the same if programs are priced without the communication optimizer, which takes most of the time
R = TypeVar("R", default="list[Array]")


def is_large(module: ModuleOp, *, as_jit: bool = False) -> bool:
    """Return whether partitioning a program takes so long that only few candidates are partitioned."""
    most = LARGE_AS_JIT if as_jit else LARGE
    return sum(1 for _ in islice(module.walk(), most + 1)) > most


@dataclass(frozen=True)
class WrittenProgram(Generic[R]):
    """An immutable program. Each step (propagate, partition) works on a copy of the module and is cached.

    `R` is the type of the results: a list of arrays for a program that was read from text, the output pytree of the
    function for a program that was lowered from JAX.
    """

    module: ModuleOp
    origin: Origin[R]
    options: CompileOptions = DEFAULT

    def propagate(self) -> PropagatedProgram[R]:
        """Propagate the shardings to every value. Raises: SdyError if propagation does not support the module."""
        return self._propagated

    def partition(self) -> Compiled[R]:
        """Propagate the shardings, then partition the program. Raises: SdyError at the first op that is unsupported."""
        return self._compiled

    def run_flat(self, inputs: Sequence[Array]) -> list[Array]:
        """Run the program on one device, with one array per argument and per result of the main function.

        Shardings are ignored. Raises: SdyError if the arrays do not match the arguments.
        """
        from sdy.interpreter.run import interpret

        return interpret(self.module, inputs, main_function(self.module).sym_name.data, self.origin.host())

    def cost(self, on: str | Hardware, free_bytes: float | str | None = None) -> ProgramCost:
        """Estimate the time and memory of the partitioned program; see `Compiled.cost`."""
        return self.partition().cost(on, free_bytes)

    def without_optimizer(self) -> Self:
        """Return the program, partitioned without rewriting ops to send fewer bytes."""
        return self._with_optimizer(is_on=False)

    def optimized_for(self, on: str | Hardware) -> Self:
        """Return the program with the communication optimizer on or off, whichever is predicted to be faster.

        The optimizer minimizes the bytes sent, which may take more collectives and more time on a machine. So it is
        also tried with the latency of the machine as the price of a collective, and without it reshards are planned, or
        follow the fixed schedule of Shardy. No time of the returned program, with or without overlap, is longer than
        without the optimizer and with planned reshards. Of several, it has the least time without overlap, then the
        least memory; a program that holds more than 1.1 times the memory is taken only if it is faster by as much.
        In programs of more than 1,500 ops, the optimizer is on if it sends fewer bytes in no more collectives; else
        times decide, but the price and the schedule are not tried.
        Raises: SdyError SDY-T209 if no machine has this name.
        """
        from sdy.cost.machine_layout import latency_in_bytes
        from sdy.cost.machines.file import resolve_hardware
        from sdy.cost.program_cost import cost_of

        machine = resolve_hardware(on)
        optimized, plain = self._with_optimizer(is_on=True), self._with_optimizer(is_on=False)
        compiled, few_candidates = optimized.partition(), is_large(self.module)
        if few_candidates and compiled.textbook is not None:
            ours, theirs = sends_of(compiled.local), sends_of(compiled.textbook)
            if ours.bytes < theirs.bytes and ours.runs <= theirs.runs:
                return optimized
        cost = optimized.cost(machine)
        if compiled.textbook is None and cost.bytes_sent:
            return optimized  # it cannot be partitioned without the optimizer, or by passes of the user alone
        if compiled.textbook is None:
            limit = plain.cost(machine)
        else:
            limit = cost_of(unfolded(copy_with_regions(compiled.textbook), make_context()), compiled.mesh, machine)
        candidates = [(cost, optimized), (limit, plain)]
        if limit.bytes_sent and not few_candidates:
            latency = round(latency_in_bytes(compiled.mesh, machine.network))
            few = replace(optimized, options=replace(optimized.options, collective_bytes=latency))
            scheduled = replace(plain, options=replace(plain.options, plan_reshards=False))
            candidates += [(each.cost(machine), each) for each in (few, scheduled)]
        price = limit.seconds_in_turn, limit.peak_bytes
        suitable = (
            (found, program)
            for found, program in candidates
            if found.is_no_slower(limit) and is_worth_its_memory(found.seconds_in_turn, found.peak_bytes, *price)
        )
        return min(suitable, key=lambda each: (each[0].seconds_in_turn, each[0].peak_bytes))[1]

    def with_passes(
        self,
        *,
        propagation: ModulePass | str | None = None,
        partitioning: Sequence[ModulePass] | str | None = None,
        pipeline: Sequence[ModulePass] | str | None = None,
    ) -> Self:
        """Return the program, compiled by passes of your own in place of those of `sdy`; see `CompileOptions`.

        `propagation` propagates the shardings. `partitioning` are the passes from closed shardings to collectives on
        global tensors, and `pipeline` are all passes from the program to there. Passes are instances, or a text: a pass
        with its options, or `builtin.module(pass,pass{option=value})`. Every question about the program (verify, cost,
        explain, search, ...) is then answered for these passes.
        Raises: SdyError if a text is malformed, or names a pass that does not exist.
        """
        chosen: dict[str, Any] = {}
        if propagation is not None:
            chosen["propagation"] = pass_of(propagation) if isinstance(propagation, str) else propagation
        for name, passes in (("partitioning", partitioning), ("pipeline", pipeline)):
            if passes is not None:
                chosen[name] = passes_of(passes) if isinstance(passes, str) else tuple(passes)
        return replace(self, options=replace(self.options, **chosen))

    def _with_optimizer(self, *, is_on: bool) -> Self:
        return self if self.options.optimize_communication is is_on else self._with_opposite_optimizer

    @cached_property
    def _with_opposite_optimizer(self) -> Self:
        options = replace(self.options, optimize_communication=not self.options.optimize_communication)
        return replace(self, options=options)

    @cached_property
    def _propagated(self) -> PropagatedProgram[R]:
        return propagated_program(self.module, self.origin, self.options)

    @cached_property
    def _compiled(self) -> Compiled[R]:
        return compiled(self.module, self.origin, self.options)
