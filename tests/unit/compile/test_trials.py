"""Partitions of edited copies of a program: equal to those of the edited program, and computed once if alike."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

import sdy
from sdy.compile.compiled import TrialPartitions
from sdy.compile.source_text import read_module

TEXT = """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x8xf32> {{sdy.sharding = #sdy.sharding<@m, [{first}, {{}}]>}},
    %b: tensor<8x8xf32>) -> tensor<8x8xf32> {{
  %0 = stablehlo.add %a, %b : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}}
"""


def annotated(first: str) -> ModuleOp:
    return read_module(TEXT.format(first=first), "<text>")


def test_copies_in_which_the_same_shardings_propagate_are_partitioned_once() -> None:
    program = sdy.Program.from_text(TEXT.format(first='{"x"}'))
    trials = TrialPartitions(program.origin, program.options)
    found = trials.local(annotated('{"x"}'))
    assert str(found) == str(program.partition().local)
    assert trials.local(annotated('{"x"}p1')) is found
    assert trials.local(annotated('{"y"}')) is not found
