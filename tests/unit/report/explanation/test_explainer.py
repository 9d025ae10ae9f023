"""The exact output of `sdy explain` for small programs."""

from __future__ import annotations

from textwrap import dedent

import pytest

from sdy.compile.origin import Origin
from sdy.compile.signature import FlatSignature
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module
from sdy.report.explanation.explainer import Explainer

HEAD = 'sdy.mesh @m = <["x"=4, "y"=2]>\n'


def explainer(text: str) -> Explainer:
    return Explainer(parse_module(text, "program.mlir"), Origin(text, FlatSignature()))


def value(text: str, query: str) -> str:
    return "\n".join(explainer(text).value(query))


def conflicts(text: str) -> str:
    return "\n".join(explainer(text).conflicts())


def expected(text: str) -> str:
    return dedent(text).strip()


LAYER = HEAD + dedent("""\
    func.func @main(%in: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}, {?}]>},
                    %weights: tensor<16x128xf32>) -> (tensor<64x128xf32>, tensor<f32>) {
      %product = stablehlo.dot_general %in, %weights, contracting_dims = [1] x [0]
        : (tensor<64x16xf32>, tensor<16x128xf32>) -> tensor<64x128xf32>
      %out = func.call @act(%product) : (tensor<64x128xf32>) -> tensor<64x128xf32>
      %pair:2 = stablehlo.optimization_barrier %out, %product : tensor<64x128xf32>, tensor<64x128xf32>
      %c = sdy.sharding_constraint %pair#0 <@m, [{?}, {"y"}]> : tensor<64x128xf32>
      %one = stablehlo.constant dense<1.0> : tensor<f32>
      return %c, %one : tensor<64x128xf32>, tensor<f32>
    }
    func.func private @act(%v: tensor<64x128xf32>) -> tensor<64x128xf32> {
      %t = stablehlo.tanh %v : tensor<64x128xf32>
      return %t : tensor<64x128xf32>
    }
""")


def test_a_chain_goes_through_calls_and_barriers_both_ways() -> None:
    assert value(LAYER, "%pair#0") == expected("""
        %pair#0 (stablehlo.optimization_barrier, line 7)
          sharded [{"x", ?}, {"y", ?}]
          dim 0 is sharded along "x":
            line 2   %in: annotated [{"x", ?}, {?}]
            line 4   %product = stablehlo.dot_general: from operand 0 (%in) to the result (%product)
            line 6   call of @act: from source 0 (%product) to %v
            line 13  %t = stablehlo.tanh: from operand 0 (%v) to the result (%t)
            line 6   call of @act: from source 0 (%t) to %out
            line 7   data flow of stablehlo.optimization_barrier: from source 0 (%out) to %pair#0
          dim 1 is sharded along "y":
            line 8  %c = sdy.sharding_constraint: constrained to [{?}, {"y"}]
            line 8  %c = sdy.sharding_constraint: from the result (%c) to operand 0 (%pair#0)
        """)


def test_values_of_other_functions_and_values_without_axes() -> None:
    assert value(LAYER, "@act:%v").startswith('%v (argument, line 12)\n  sharded [{"x", ?}, {"y", ?}]\n')
    assert value(LAYER, "%one") == expected("""
        %one (stablehlo.constant, line 9)
          no sharding was propagated to it: it is replicated
        """)


def test_a_name_without_index_means_all_results_and_a_line_all_its_values() -> None:
    assert value(LAYER, "%pair") == value(LAYER, "7")
    assert [line for line in value(LAYER, "2").splitlines() if not line.startswith(" ")] == [
        "%in (argument, line 2)",
        "%weights (argument, line 2)",
    ]


def test_names_printed_by_sdy_opt_are_accepted() -> None:
    assert value(LAYER, "%arg1") == value(LAYER, "%weights")
    assert value(LAYER, "@main:%0") == value(LAYER, "%product")


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("%produkt", "@main has no value %produkt", "did you mean %product?"),
        ("@acts:%t", "unknown function @acts", "functions: @main, @act"),
        ("999", "no value is defined on line 999", "the program has 15 lines"),
        (
            "product",
            "expected a value, got 'product'",
            "write %name, @func:%name, a line number, or the name of an argument or a result in JAX",
        ),
    ],
)
def test_unknown_values_are_errors(query: str, message: str, hint: str) -> None:
    with pytest.raises(SdyError) as error:
        value(LAYER, query)
    (diagnostic,) = error.value.diagnostics
    assert (diagnostic.code, diagnostic.message, diagnostic.hint) == ("SDY-T203", message, hint)


def test_where_a_chain_begins() -> None:
    text = HEAD + dedent("""\
        func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %l: tensor<8x8xf32>)
            -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, tensor<8x8xf32>, tensor<8x8xf32>) {
          %0 = stablehlo.tanh %a : tensor<8x8xf32>
          %1 = stablehlo.tanh %b : tensor<8x8xf32>
          %2 = sdy.sharding_constraint %1 <@m, [{"y"}, {}]> : tensor<8x8xf32>
          %3 = sdy.manual_computation(%l) in_shardings=[<@m, [{"x"}, {"y", ?}]>] out_shardings=[<@m, [{"x"}, {?}]>]
              manual_axes={"x"} (%shard: tensor<2x8xf32>) {
            %4 = stablehlo.tanh %shard : tensor<2x8xf32>
            sdy.return %4 : tensor<2x8xf32>
          } : (tensor<8x8xf32>) -> tensor<8x8xf32>
          return %0, %2, %3 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
        }
    """)
    assert "line 2  result[0]: annotated" in value(text, "%0")
    assert "line 2  return of @main: from result[0] to the returned %0" in value(text, "%0")
    assert 'line 5  %1 = stablehlo.tanh: inherits [{"y"}, {}] from sdy.sharding_constraint on line 6' in value(
        text, "%1"
    )
    assert 'in_shardings[0] of the manual computation, [{}, {"y", ?}] without manual axes' in value(text, "%4")


def test_members_of_a_sharding_group_share_propagated_axes() -> None:
    text = HEAD + dedent("""\
        func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %b: tensor<8xf32>)
            -> (tensor<8xf32>, tensor<8xf32>) {
          %0 = stablehlo.tanh %a : tensor<8xf32>
          %1 = stablehlo.tanh %b : tensor<8xf32>
          sdy.sharding_group %0 group_id=0 : tensor<8xf32>
          sdy.sharding_group %1 group_id=0 : tensor<8xf32>
          return %0, %1 : tensor<8xf32>, tensor<8xf32>
        }
    """)
    assert "%0 = stablehlo.tanh: from operand 0 (%a) to the result (%0), and to %1 of its sharding group" in value(
        text, "%1"
    )


def product(left: str, right: str, rows: int = 64, columns: int = 128, result: str = "[{?}, {?}]") -> str:
    return HEAD + dedent(f"""\
        func.func @main(%a: tensor<{rows}x16xf32> {{sdy.sharding = #sdy.sharding<@m, {left}>}},
                        %b: tensor<16x{columns}xf32> {{sdy.sharding = #sdy.sharding<@m, {right}>}})
            -> (tensor<{rows}x{columns}xf32> {{sdy.sharding = #sdy.sharding<@m, {result}>}}) {{
          %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
            : (tensor<{rows}x16xf32>, tensor<16x{columns}xf32>) -> tensor<{rows}x{columns}xf32>
          return %c : tensor<{rows}x{columns}xf32>
        }}
    """)


def test_the_larger_source_wins() -> None:
    assert conflicts(product('[{"x", ?}, {?}]', '[{?}, {"x", ?}]')) == expected("""
        line 5: %c = stablehlo.dot_general
          dim 0 of operand 0 (%a) is sharded along "x", but dim 0 of the result (%c) is not: dim 1 of that tensor is \
sharded along "x"
            dim 1 and dim 0 competed for the axis in the same step, and dim 1 was chosen: its source is larger \
(operand 1 (%b) has 2,048 elements, operand 0 (%a) has only 1,024)
        """)


def test_the_first_of_several_sources_of_equal_size_wins() -> None:
    text = conflicts(product('[{"x", ?}, {?}]', '[{?}, {"x", ?}]', columns=64))
    assert text.endswith(
        "dim 0 and dim 1 competed for the axis in the same step, and dim 0 was chosen: "
        "its source comes first (operand 0 (%a) before operand 1 (%b), which has the same size)"
    )


def test_the_axis_that_was_propagated_first_wins() -> None:
    assert conflicts(product('[{"x", ?}, {?}]', '[{?}, {"x", ?}]', result='[{"x"}, {}]')) == expected("""
        line 5: %c = stablehlo.dot_general
          dim 1 of operand 1 (%b) is sharded along "x", but dim 1 of the result (%c) is not: dim 0 of that tensor is \
sharded along "x"
            "x" was propagated first, through return of @main on line 2; it originates from line 2, result[0]: \
annotated [{"x"}, {}]
        """)


def test_closed_dims_and_explicit_axes_block_an_axis() -> None:
    text = conflicts(product('[{"x", ?}, {?}]', "[{?}, {?}]", result="[{}, {?}]"))
    assert text == expected("""
        line 2: return of @main
          dim 0 of the returned %c is sharded along "x", but dim 0 of result[0] is not: that dim is closed
        """)
    text = conflicts(product('[{"x", ?}, {?}]', "[{?}, {?}]", result='[{?}, {?}], replicated={"x"}'))
    assert text.endswith('that tensor is explicitly replicated or unreduced along "x"')


def test_another_axis_of_the_same_dim() -> None:
    text = conflicts(product('[{?}, {"x"}]', '[{"y"}, {?}]'))
    assert text == expected("""
        line 5: %c = stablehlo.dot_general
          dim 1 of operand 0 (%a) is sharded along "x", but dim 0 of operand 1 (%b) is not: that dim is sharded along \
"y" instead
            "y" was there initially: line 2, %b: annotated [{"y"}, {?}]
        """)


def test_a_dim_that_cannot_be_divided_further() -> None:
    text = HEAD + dedent("""\
        func.func @main(%a: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}, {?}]>}) -> tensor<48xf32> {
          %0 = stablehlo.reshape %a : (tensor<6x8xf32>) -> tensor<48xf32>
          return %0 : tensor<48xf32>
        }
    """)
    assert conflicts(text) == expected("""
        line 3: %0 = stablehlo.reshape
          dim 0 of operand 0 (%a) is sharded along "x", but dim 0 of the result (%0) is not: that dim cannot be \
divided further by "x"
        """)


def test_a_program_without_conflicts() -> None:
    assert (
        conflicts(product("[{?}, {?}]", "[{?}, {?}]"))
        == "no conflicts: the tensors of every op have compatible shardings"
    )
