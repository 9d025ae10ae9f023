"""Combine collectives that have the same attributes, are independent, and fit into memory."""

from __future__ import annotations

import pytest

from sdy.cost.memory import peak_bytes
from sdy.cost.statistics import statistics_of
from sdy.dialects.ir.context import SdyContext
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import ops_of, pre_order
from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.stablehlo.collectives import AllReduceOp, OutfeedOp
from sdy.dialects.verification.verify_module import verify_module
from sdy.passes.export.collectives.combine_collectives import CombineCollectivesPass
from sdy.passes.run import run_passes

ALL, PAIRS = "dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>", "dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"


def reduced(
    result: str, operand: str, *, combiner: str = "add", groups: str = ALL, element: str = "f32", more: str = ""
) -> str:
    """Return an all-reduce of four elements."""
    return f"""
  {result} = "stablehlo.all_reduce"({operand}) <{{replica_groups = {groups}{more}}}> ({{
  ^bb0(%l: tensor<{element}>, %r: tensor<{element}>):
    %c = stablehlo.{combiner} %l, %r : tensor<{element}>
    stablehlo.return %c : tensor<{element}>
  }}) : (tensor<4x{element}>) -> tensor<4x{element}>"""


def main(*lines: str, returned: str = "", functions: str = "") -> str:
    """Return a function of two donated vectors with a value that needs more memory than all others."""
    donated = "tensor<4xf32> {jax.buffer_donor = true}"
    types = ", ".join(["tensor<4xf32>"] * len(returned.split(",")) if returned else [])
    body = "\n  ".join(lines)
    return f"""
func.func @main(%a: {donated}, %b: {donated}) -> ({types}) {{
  %large = stablehlo.constant dense<0.0> : tensor<512xf32>
  {body}
  return {returned} {":" if returned else ""} {types}
}}
{functions}"""


def combined_sizes(text: str, *, most_bytes: int = 2**25) -> list[int]:
    """Combine collectives; return the number of operands of each all-reduce in program order."""
    module = parse_module(text, "test.mlir")
    before = statistics_of(module)
    run_passes(make_context(), module, [CombineCollectivesPass(most_bytes)])
    verify_module(module)
    after = statistics_of(module)
    assert after.bytes_sent == before.bytes_sent
    assert after.peak_bytes <= before.peak_bytes
    return [len(op.inputs) for op in ops_of(module, AllReduceOp)]


def negated(result: str, operand: str) -> str:
    return f"{result} = stablehlo.negate {operand} : tensor<4xf32>"


def test_users_between_collectives_move_after_them() -> None:
    text = main(reduced("%0", "%a"), negated("%1", "%0"), reduced("%2", "%b"), returned="%1, %2")
    assert combined_sizes(text) == [2]


def test_collectives_dependent_through_an_op_are_not_combined() -> None:
    text = main(reduced("%0", "%a"), negated("%1", "%0"), reduced("%2", "%1"), returned="%2")
    assert combined_sizes(text) == [1, 1]


def test_collectives_dependent_through_a_region_are_not_combined() -> None:
    branch = """%1 = "stablehlo.case"(%i) ({
      stablehlo.return %a : tensor<4xf32>
    }, {
      stablehlo.return %0 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>"""
    index = "%i = stablehlo.constant dense<1> : tensor<i32>"
    text = main(index, reduced("%0", "%a"), branch, reduced("%2", "%1"), returned="%2")
    assert combined_sizes(text) == [1, 1]
    assert combined_sizes(text.replace("stablehlo.return %0", "stablehlo.return %b")) == [2]


@pytest.mark.parametrize(
    "other",
    [
        reduced("%1", "%b", groups=PAIRS),
        reduced("%1", "%b", combiner="maximum"),
        reduced("%1", "%b", more=", use_global_device_ids"),
        reduced("%1", "%b", more=", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"),
    ],
)
def test_collectives_with_different_attributes_are_not_combined(other: str) -> None:
    assert combined_sizes(main(reduced("%0", "%a"), other, returned="%0, %1")) == [1, 1]


def test_reductions_of_different_element_types_are_not_combined() -> None:
    converted = "%w = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi32>"
    back = "%1 = stablehlo.convert %v : (tensor<4xi32>) -> tensor<4xf32>"
    text = main(converted, reduced("%0", "%b"), reduced("%v", "%w", element="i32"), back, returned="%0, %1")
    assert combined_sizes(text) == [1, 1]


def test_reduction_with_captured_values_is_not_combined() -> None:
    one = "%one = stablehlo.constant dense<1.0> : tensor<f32>"
    scaled = reduced("%0", "%a").replace("%c : tensor<f32>", "%d : tensor<f32>")
    scaled = scaled.replace("stablehlo.return", "%d = stablehlo.multiply %c, %one : tensor<f32>\n    stablehlo.return")
    text = main(one, scaled, scaled.replace("%0", "%1").replace("%a", "%b"), returned="%0, %1")
    assert combined_sizes(text) == [1, 1]
    assert combined_sizes(text.replace("%c, %one", "%c, %l")) == [2]


def test_collective_with_several_operands_is_combined_further() -> None:
    several = reduced("%0:2", "%a, %b").replace("(tensor<4xf32>) -> tensor<4xf32>", f"({PAIR}) -> ({PAIR})")
    assert combined_sizes(main(several, reduced("%1", "%b"), returned="%0#0, %0#1, %1")) == [3]


PAIR = "tensor<4xf32>, tensor<4xf32>"


def test_combined_collective_respects_the_byte_limit() -> None:
    text = main(*(reduced(f"%{number}", "%a") for number in range(4)), returned="%0, %1, %2, %3")
    assert combined_sizes(text) == [4]
    assert combined_sizes(text, most_bytes=47) == [2, 2]
    assert combined_sizes(text, most_bytes=31) == [1, 1, 1, 1]


def test_peak_memory_does_not_grow() -> None:
    text = main(reduced("%0", "%a"), negated("%1", "%0"), reduced("%2", "%b"), returned="%2")
    assert combined_sizes(text) == [2]
    small = text.replace("512xf32", "1xf32")
    assert peak_bytes(parse_module(small)) < 4 * 16
    assert combined_sizes(small) == [1, 1]


CALLED = f"""
func.func private @inner(%a: tensor<4xf32>) -> (tensor<4xf32>) {{
  {negated("%n", "%a")}
  {reduced("%0", "%n")}
  %1 = stablehlo.custom_call @folded(%0) : (tensor<4xf32>) -> tensor<f32>
  %m = stablehlo.custom_call @stored(%a) : (tensor<4xf32>) -> tensor<4xf32>
  {reduced("%2", "%m")}
  %3 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %4 = stablehlo.add %3, %2 : tensor<4xf32>
  return %4 : tensor<4xf32>
}}"""
CALL = "%0 = func.call @inner(%b) : (tensor<4xf32>) -> tensor<4xf32>"


def test_collectives_in_functions_and_loops_are_combined() -> None:
    assert combined_sizes(main(CALL, returned="%0", functions=CALLED)) == [2]
    loop = f"""%0 = stablehlo.while(%x = %a) : tensor<4xf32>
    cond {{
      %p = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %p : tensor<i1>
    }} do {{
      {reduced("%1", "%x")}
      {reduced("%2", "%b")}
      %3 = stablehlo.add %1, %2 : tensor<4xf32>
      stablehlo.return %3 : tensor<4xf32>
    }}"""
    assert combined_sizes(main(loop, returned="%0")) == [2]


def test_memory_of_a_function_is_limited_by_its_callers() -> None:
    # The peak is reached while the large value is alive.
    fold = "%s = stablehlo.custom_call @fold(%large) : (tensor<512xf32>) -> tensor<4xf32>"  # reads a stored value
    assert combined_sizes(main(CALL, fold, returned="%0, %s", functions=CALLED)) == [1, 1]
    assert combined_sizes(main(fold, CALL, returned="%0, %s", functions=CALLED)) == [2]


def test_collectives_in_different_blocks_are_not_combined() -> None:
    assert combined_sizes(main(CALL, reduced("%1", "%a"), returned="%0, %1", functions=CALLED)) == [1, 2]


def test_side_effects_keep_the_program_order() -> None:
    feeds = [
        "%t = stablehlo.create_token : !stablehlo.token",
        reduced("%0", "%a"),
        '%1 = "stablehlo.outfeed"(%0, %t) <{outfeed_config = "first"}> : (tensor<4xf32>, !stablehlo.token)'
        " -> !stablehlo.token",
        '%2 = "stablehlo.outfeed"(%b, %t) <{outfeed_config = "second"}> : (tensor<4xf32>, !stablehlo.token)'
        " -> !stablehlo.token",
        negated("%n", "%b"),
        reduced("%3", "%n"),
    ]
    module = parse_module(main(*feeds, returned="%3"))
    run_passes(make_context(), module, [CombineCollectivesPass()])
    kinds = [type(op) for op in pre_order(functions_of(module)["main"]) if type(op) in (AllReduceOp, OutfeedOp)]
    assert kinds == [AllReduceOp, OutfeedOp, OutfeedOp]
    assert [op.outfeed_config.data for op in ops_of(module, OutfeedOp)] == ["first", "second"]


def test_combining_is_remarked_at_the_first_collective() -> None:
    text = main(*(reduced(f"%{number}", "%a") for number in range(3)), returned="%0, %1, %2")
    context = make_context()
    assert isinstance(context, SdyContext)
    module = parse_module(text, "test.mlir")
    first = next(iter(ops_of(module, AllReduceOp)))
    location = span_of(first)
    run_passes(context, module, [CombineCollectivesPass()])
    (remark,) = context.diagnostics
    assert (remark.code, remark.span) == ("SDY-L121", location)
    assert "combined 3 stablehlo.all_reduce into one" in remark.message
    assert [span_of(op) for op in ops_of(module, AllReduceOp)] == [location]


def test_recursive_function_is_supported() -> None:
    again = CALLED.replace(
        "%3 = stablehlo.add", "%4 = func.call @inner(%2) : (tensor<4xf32>) -> tensor<4xf32>\n  %3 = stablehlo.add"
    )
    module = parse_module(main(CALL, returned="%0", functions=again))
    run_passes(make_context(), module, [CombineCollectivesPass()])
    assert [len(op.inputs) for op in ops_of(module, AllReduceOp)] == [2]
