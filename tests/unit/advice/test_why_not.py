"""Why a dim is not sharded along an axis: each reason, and the edit that shards it."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest
from support.examples import EXAMPLES

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.meshes import meshes_of

HEAD = 'sdy.mesh @m = <["x"=4, "y"=2]>\n'


def answer(body: str, value: str, dim: int, axis: str) -> str:
    return sdy.Program.from_text(HEAD + dedent(body).lstrip(), "p.mlir").why_not(value, dim=dim, axis=axis)


def expected(text: str) -> str:
    return dedent(text).strip()


def test_a_dim_in_the_way_is_closed() -> None:
    text = """
        func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
          %0 = stablehlo.abs %a : tensor<8x8xf32>
          %1 = sdy.sharding_constraint %0 <@m, [{}, {?}]> : tensor<8x8xf32>
          return %1 : tensor<8x8xf32>
        }
    """
    assert answer(text, "%1", 0, "x") == expected("""
        %1 (sdy.sharding_constraint, line 4)
          dim 0 is not sharded along "x": sharded [{}, {?}]
          dim 0 is closed: line 4, %1 = sdy.sharding_constraint: constrained to [{}, {?}]
          the nearest dim that it could come from: dim 0 of %0
            line 2  %a: annotated [{"x"}, {}]
            line 3  %0 = stablehlo.abs: from operand 0 (%a) to the result (%0)
          it stops at line 4, %1 = sdy.sharding_constraint:
            dim 0 of operand 0 (%0) is sharded along "x", but dim 0 of the result (%1) is not: that dim is closed
          edit: open dim 0 of %1, [{?}, {?}] or P(P.UNCONSTRAINED, P.UNCONSTRAINED), and propagation shards it along "x"
    """)


def test_another_dim_was_first_and_gets_a_later_priority() -> None:
    text = """
        func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
            %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> tensor<8x8xf32> {
          %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
              : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
          return %0 : tensor<8x8xf32>
        }
    """
    found = answer(text, "%0", 1, "x")
    assert "dim 0 is sharded along it, and a tensor is sharded along an axis only once:\n    line 2  %a: ann" in found
    assert "the nearest dim that it could come from: dim 1 of %w" in found
    assert "it stops at line 4, %0 = stablehlo.dot_general:" in found
    assert "dim 0 and dim 1 competed for the axis in the same step" in found
    assert 'edit: give dim 0 of %a a later priority, [{"x"}p1, {}], and propagation shards it along "x"' in found


def test_nothing_brings_the_axis() -> None:
    text = """
        func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {?}]>})
            -> (tensor<8x8xf32>, tensor<8x8xf32>) {
          %0 = stablehlo.abs %a : tensor<8x8xf32>
          %1 = stablehlo.abs %b : tensor<8x8xf32>
          return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
        }
    """
    assert answer(text, "%0", 1, "y") == expected("""
        %0 (stablehlo.abs, line 4)
          dim 1 is not sharded along "y": without a sharding
          nothing propagates it there: none of the 2 dims tied to this dim by ops is sharded along it
          edit: constrain %0 to [{?}, {"y", ?}] or P(P.UNCONSTRAINED, 'y'), and propagation shards it along "y"
    """)
    assert 'edit: annotate %a as [{}, {"y"}]' in answer(text, "%a", 1, "y")


def test_a_barrier_stops_the_axis() -> None:
    text = """
        func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
          %0 = sdy.propagation_barrier %a allowed_direction=BACKWARD : tensor<8x8xf32>
          %1 = stablehlo.abs %0 : tensor<8x8xf32>
          return %1 : tensor<8x8xf32>
        }
    """
    found = answer(text, "%1", 0, "x")
    assert (
        "it stops at line 3, %0 = sdy.propagation_barrier:\n    a propagation barrier does not let axes pass" in found
    )
    assert "edit: constrain %1 to" in found


def test_a_size_that_does_not_divide_and_replicated_axes_are_named() -> None:
    text = """
        func.func @main(%a: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {?}], replicated={"y"}>})
            -> tensor<6x8xf32> {
          return %a : tensor<6x8xf32>
        }
    """
    assert "its 6 elements cannot be divided into 4 shards" in answer(text, "%a", 0, "x")
    found = answer(text, "%a", 1, "y")
    assert 'the value is explicitly replicated or unreduced along "y"' in found
    assert 'edit: annotate %a as [{?}, {"y", ?}]' in found


def test_a_dim_that_is_sharded_is_explained() -> None:
    text = """
        func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
          return %a : tensor<8x8xf32>
        }
    """
    found = answer(text, "%a", 0, "x")
    assert found.splitlines()[:2] == ["%a (argument, line 2)", '  dim 0 is sharded along "x"']
    assert "edit" not in found


@pytest.mark.parametrize(
    ("dim", "axis", "message"),
    [
        (2, "x", "%a has no dim 2: its rank is 2 [SDY-T220]"),
        (0, "xx", 'no mesh has an axis "xx" [SDY-T220]\n  hint: did you mean x?'),
        (0, "model", 'no mesh has an axis "model" [SDY-T220]\n  hint: axes: x, y'),
    ],
)
def test_wrong_questions(dim: int, axis: str, message: str) -> None:
    text = """
        func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
          return %a : tensor<8x8xf32>
        }
    """
    with pytest.raises(SdyError, match=re.escape(message)):
        answer(text, "%a", dim, axis)


def test_every_argument_dim_and_axis_of_the_examples_has_an_edit() -> None:
    for path in EXAMPLES:
        program = sdy.load(path)
        for number, (shape, _) in enumerate(program.input_types):
            axes = [axis.name for mesh in meshes_of(program.module).values() for axis in mesh.axes]
            for dim, axis in ((dim, axis) for dim in range(len(shape)) for axis in axes):
                found = program.why_not(f"%arg{number}", dim=dim, axis=axis)
                assert "is sharded along" in found or "\n  edit: " in found, found


UNEVEN = """
    func.func @main(%a: tensor<10x8xf32>) -> (tensor<10x8xf32>, tensor<8x8xf32>) {
      %0 = stablehlo.abs %a : tensor<10x8xf32>
      %1 = stablehlo.slice %0 [0:8, 0:8] : (tensor<10x8xf32>) -> tensor<8x8xf32>
      return %0, %1 : tensor<10x8xf32>, tensor<8x8xf32>
    }
"""


def test_a_negative_dim_counts_from_the_end() -> None:
    assert answer(UNEVEN, "%a", -1, "x") == answer(UNEVEN, "%a", 1, "x")
    with pytest.raises(SdyError, match="%a has no dim -3: its rank is 2"):
        answer(UNEVEN, "%a", -3, "x")


def test_an_edit_with_uneven_shards_says_what_jax_accepts() -> None:
    lines = answer(UNEVEN, "%a", 0, "x").splitlines()
    assert lines[-2].startswith("""  edit: annotate %a as [{"x"}, {}] or P('x', None), and""")
    assert lines[-1].startswith(
        "  JAX rejects uneven shards of arguments and results: pad dim 0 to 12 elements, or use"
    )
    assert "JAX rejects" not in answer(UNEVEN, "%a", 1, "x")
    assert "JAX rejects" not in answer(UNEVEN, "%0", 0, "x")  # a constraint may be uneven


def test_the_edit_of_a_result_is_an_annotation_of_the_function() -> None:
    edit = """annotate result[1] as [{"x"}, {}] or P('x', None) in the out_shardings of jax.jit"""
    assert f"  edit: {edit}, and propagation" in answer(UNEVEN, "result[1]", 0, "x")
    assert "  edit: constrain %1 to" in answer(UNEVEN, "%1", 0, "x")
    assert "JAX rejects uneven shards" in answer(UNEVEN, "result[0]", 0, "x")
