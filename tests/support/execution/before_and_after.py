"""Run a program on one device before and after a pass."""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.verification.verify_module import verify_module
from sdy.evidence.runs.arrays import random_inputs
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.single import interpret
from sdy.passes.run import run_passes


class BeforeAndAfter(NamedTuple):
    """The first result of a program before and after a pass, and the module that the pass has rewritten."""

    before: Array
    after: Array
    module: ModuleOp


def before_and_after(text: str, rewriting: ModulePass, seed: int) -> BeforeAndAfter:
    """Return the results of a program on random inputs; the module must be valid after the pass."""
    module = parse_module(text)
    inputs = random_inputs(module, seed)
    before = interpret(module, inputs)[0]
    run_passes(make_context(), module, [rewriting])
    verify_module(module)
    return BeforeAndAfter(before, interpret(module, inputs)[0], module)
