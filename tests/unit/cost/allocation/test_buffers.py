"""Values that share the memory of others: arguments of functions, and values that loops do not change."""

from __future__ import annotations

from sdy.cost.memory import peak_bytes
from sdy.dialects.module_text import parse_module

ROW = "tensor<16xf32>"
BYTES = 64


def peak_rows(body: str) -> int:
    """Return the peak of a program in rows; its argument takes one, and @sum needs two besides its argument."""
    module = parse_module(f"""
func.func @main(%a: {ROW}) -> {ROW} {{{body}}}
func.func private @sum(%a: {ROW}) -> {ROW} {{
  %0 = stablehlo.custom_call @sorted(%a) : ({ROW}) -> {ROW}
  %1 = stablehlo.add %0, %a : {ROW}
  return %1 : {ROW}
}}""")
    return peak_bytes(module) // BYTES


def test_an_argument_that_lives_on_is_not_copied() -> None:
    assert (
        peak_rows(f"""
  %0 = stablehlo.tanh %a : {ROW}
  %1 = call @sum(%0) : ({ROW}) -> {ROW}
  %2 = stablehlo.add %0, %1 : {ROW}
  return %2 : {ROW}""")
        == 4
    )


LOOP = f"""
  %0 = stablehlo.tanh %a : {ROW}
  %1:2 = stablehlo.while(%x = %0, %s = %a) : {ROW}, {ROW}
  cond {{
    %p = stablehlo.custom_call @goes_on() : () -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %2 = stablehlo.add %x, %s : {ROW}
    stablehlo.return %x, %2 : {ROW}, {ROW}
  }}
"""


def test_a_value_that_a_loop_does_not_change_is_not_copied() -> None:
    """The argument, the value, the sum and the next sum."""
    assert peak_rows(f"{LOOP}  %3 = stablehlo.add %0, %1#1 : {ROW}\n  return %3 : {ROW}") == 4


def test_a_value_that_a_loop_changes_is_copied_if_it_is_read_later() -> None:
    """The sum starts in the memory of a copy, because the argument is read again."""
    changed = LOOP.replace("%s = %a", "%s = %0").replace("%x = %0", "%x = %a")
    assert peak_rows(f"{changed}  %3 = stablehlo.add %0, %1#1 : {ROW}\n  return %3 : {ROW}") == 4
    assert peak_rows(f"{changed}  return %1#1 : {ROW}") == 3
