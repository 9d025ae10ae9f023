"""When two programs differ, `verify` mostly blames the wrong op, or an op that completes the wrong value.

A value is complete when something is computed from it: ops that move it, communicate it, or take it for an index, and
loops and calls that carry it, are passed. Few programs by default, more with `pytest -m slow`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import islice

import pytest
from support.execution.faults import faulty_copies
from support.random_programs.draft import Options
from support.random_programs.program import random_program
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue, Use

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.facts.traits import has_region_on_elements, is_terminator, moves_elements
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import calls_of, functions_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import parse_module
from sdy.dialects.stablehlo.collectives import CollectivePermuteOp, is_grouped
from sdy.dialects.stablehlo.control import OptimizationBarrierOp, WhileOp
from sdy.dialects.stablehlo.elementwise import SelectOp
from sdy.evidence.runs.draws import Draws
from sdy.evidence.runs.exact import exact_outcome
from sdy.interpreter.arrays.element_types import dtype_of_type, is_integer
from sdy.program.program import Program

OPTIONS = Options(ops=9, executable=True, max_devices=16)
FAULTS = 3  # of each program


def are_blamed(seeds: Iterable[int]) -> Iterator[bool]:
    """Yield for each fault that changes results whether the op that is blamed is the wrong one, or completes it."""
    for seed in seeds:
        program = Program.from_text(random_program(seed, OPTIONS)).partition()
        for _, faulty in islice(faulty_copies(program.local, seed=1), FAULTS):
            text = str(faulty)
            local = parse_module(text, "local.mlir")
            try:
                found = exact_outcome(replace(program, local=local), Draws(program.written, 0))
            except SdyError:
                continue  # it cannot be run
            if not all(each.agrees for each in found.rounds):
                span = None if found.parting is None else found.parting.span
                yield span is not None and span.line in completing(changed_lines(str(program.local), text), local)


def changed_lines(right: str, wrong: str) -> set[int]:
    """Return the lines of a text that are new, or next to a line that is gone; names of values may differ."""
    ones, others = (re.sub(r"%\w+|handle = \d+", "", text).split("\n") for text in (right, wrong))
    found: set[int] = set()
    for tag, _, _, first, last in SequenceMatcher(None, ones, others, autojunk=False).get_opcodes():
        if tag != "equal":
            found.update(range(first + 1, last + 1) if last > first else (first, first + 1))
    return found


def completing(changed: set[int], local: ModuleOp) -> set[int]:
    """Return the lines of ops that changed, and of those that get their values before anything else is computed."""
    ops = [op for op in pre_order(local) if line_of(op) in changed]
    ops += [above for op in ops if (above := op.parent_op()) is not None and has_region_on_elements(above)]
    seen: set[SSAValue] = {result for op in ops for result in op.results}
    lines, pending = {*changed, *map(line_of, ops)}, list(seen)
    while pending:
        for use in pending.pop().uses:
            lines.add(line_of(use.operation))
            fresh = [each for each in carried(use, local) if each not in seen]
            seen.update(fresh)
            pending += fresh
    return lines


def line_of(op: Operation) -> int:
    span = span_of(op)
    return 0 if span is None else span.line


def carried(use: Use, local: ModuleOp) -> Iterable[SSAValue]:
    """Return the values that an op makes of an operand without computing."""
    op, index, above = use.operation, use.index, use.operation.parent_op()
    if is_terminator(op) and isinstance(above, FuncOp):
        return [call.results[index] for call in calls_of(local, above)]
    if isinstance(op, CallOp):
        return [functions_of(local)[op.callee.string_value()].body.block.args[index]]
    around = above if is_terminator(op) else op
    if isinstance(around, WhileOp):
        return [around.results[index], *(region.block.args[index] for region in around.regions)]
    if is_terminator(op):
        return [] if above is None else above.results[index : index + 1]
    is_index = all(is_integer(dtype_of_type(each.type)) for each in op.results)
    passes = isinstance(op, CollectivePermuteOp | OptimizationBarrierOp | SelectOp) or is_grouped(op)
    return op.results if passes or is_index or moves_elements(op) else ()


def check(seeds: Iterable[int], least: int) -> None:
    found = list(are_blamed(seeds))
    assert len(found) >= least
    assert sum(found) >= 0.85 * len(found)


def test_the_wrong_op_is_blamed() -> None:
    check(range(500, 515), least=20)


@pytest.mark.slow
def test_the_wrong_ops_of_many_programs_are_blamed() -> None:
    check(range(500, 620), least=200)
