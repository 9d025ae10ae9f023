"""Texts about several collectives give each cause once, and long paths of propagation without their middle."""

from __future__ import annotations

import sdy
from sdy.advice.collectives import CausesOnce
from sdy.advice.contract import CollectiveBound, Contract, diagnostics_of

HEAD = 'sdy.mesh @m = <["x"=4]>\n'
ARGUMENT = "%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{SHARDING}, {}]>}"
PATH = "\n".join(f"  %{i + 1} = stablehlo.tanh %{i} : tensor<8x16xf32>" for i in range(9))
BODY = f"""\
  %0 = stablehlo.abs %a : tensor<8x16xf32>
{PATH}
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%9 init: %c) applies stablehlo.add across dimensions = [0]
      : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
  %t = stablehlo.reduce(%9 init: %c) applies stablehlo.maximum across dimensions = [0]
      : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
  return %s, %t : tensor<16xf32>, tensor<16xf32>
}}
"""


def program(sharding: str) -> sdy.Program:
    header = f"func.func @main({ARGUMENT.replace('SHARDING', sharding)}) -> (tensor<16xf32>, tensor<16xf32>) {{\n"
    return sdy.Program.from_text(HEAD + header + BODY, "program.mlir")


def test_a_difference_gives_a_path_once_and_in_short() -> None:
    found = program("").diff(program('"x"'))
    text = str(found)
    path = [
        '      dim 0 of %9 is sharded along "x":',
        '        line 2  %a: annotated [{"x"}, {}]',
        "        ... 9 more steps",
        "        line 12  %9 = stablehlo.tanh: from operand 0 (%8) to the result (%9)",
    ]
    assert text.count("\n".join(path)) == 1
    assert '      as above for all-reduce along "x" at line 14' in text
    assert all(len(each.causes) == 12 for each in found.collectives)  # data has all steps


def test_broken_bounds_give_a_path_once_and_in_short() -> None:
    broken = program('"x"').breaches(Contract((CollectiveBound(count=0),), bytes_sent=0))
    text = "\n".join(note.message for error in diagnostics_of(broken) for note in error.notes)
    assert text.count("... 9 more steps") == 1
    assert text.count("as above for all-reduce") == 1
    assert text.count("bytes, explained above") == 2


def test_a_repeated_cause_among_others_is_given_without_its_path() -> None:
    first, second = program('"x"').partition_summary().collectives
    given = CausesOnce()
    assert list(given.lines(first, ("a path:", "  a step"))) == ["a path:", "  a step"]
    assert list(given.lines(second, ("a conflict", "a path:", "  a step"))) == ["a conflict", "a path, as above"]
