"""A partition that is explained at once equals a partition and an explanation with a propagation each."""

from __future__ import annotations

import pytest
from support.examples import EXAMPLE_NAMES, EXAMPLES

import sdy
from sdy.compile.compiled import compiled
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import print_module
from sdy.report.explanation.explainer import Explainer

GROUPS = """sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>},
                %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"y"}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %a, %a : tensor<8x8xf32>
  %1 = stablehlo.dot %0, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  sdy.sharding_group %0 group_id = 0 : tensor<8x8xf32>
  sdy.sharding_group %b group_id = 0 : tensor<8x8xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{"y", ?}, {?}]> : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
"""


PROGRAMS = {"groups": sdy.Program.from_text(GROUPS)} | {path.stem: sdy.load(path) for path in EXAMPLES}


def explanations(explainer: Explainer, program: sdy.Program) -> list[str]:
    block = main_function(program.module).body.block
    values = [*block.args, *(result for op in block.ops for result in op.results)]
    return [*explainer.conflicts(), *(line for value in values for line in explainer.explanation(value).lines())]


@pytest.mark.parametrize("name", ["groups", *EXAMPLE_NAMES])
def test_one_propagation_gives_the_same_partition_and_explanation_as_two(name: str) -> None:
    program = PROGRAMS[name]
    partitioned = compiled(program.module, program.origin, is_traced=True)
    explainer = Explainer(program.module, program.origin, trace=partitioned.trace)
    alone = program.partition()
    assert print_module(partitioned.folded) == print_module(alone.folded)
    assert print_module(partitioned.local) == print_module(alone.local)
    assert partitioned.remarks == alone.remarks
    apart = Explainer(program.module, program.origin)
    assert explanations(explainer, program) == explanations(apart, program)


def test_page_of_a_program_does_not_depend_on_what_was_asked_before() -> None:
    first, second = (sdy.Program.from_text(GROUPS) for _ in range(2))
    second.partition()
    second.conflicts()
    assert first.report_html() == second.report_html()
