"""Manual computations whose devices compute values by themselves, which runs check: rings, sums over some axes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.execution.proved_faults import check_proof_and_faults

import sdy
from sdy.evidence.whole_proof import prove

MESH = 'sdy.mesh @m = <["x"=2, "y"=2]>'
BY_X = '#sdy.sharding<@m, [{"x"}, {}]>'
BY_BOTH = '#sdy.sharding<@m, [{"x", "y"}, {}]>'
RING = "source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>"
LINE = "source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>"
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"


def permuted(result: str, value: str, pairs: str, value_type: str) -> str:
    """Return an op that sends `value` from device to device."""
    op = f'"stablehlo.collective_permute"({value}) <{{{CHANNEL}, {pairs}}}>'
    return f"{result} = {op} : ({value_type}) -> {value_type}"


def summed(result: str, value: str, groups: str, value_type: str) -> str:
    """Return an op that adds `value` over groups of devices."""
    table = f"replica_groups = dense<{groups}> : tensor<2x2xi64>"
    return f"""{result} = "stablehlo.all_reduce"({value}) <{{{CHANNEL}, {table}, use_global_device_ids}}> ({{
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %t = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }}) : ({value_type}) -> {value_type}"""


def repeated(body: str, carried: dict[str, tuple[str, str]], returned: str) -> str:
    """Return a loop of seven iterations; `carried` has the start and the type of each value beside the counter."""
    starts = ", ".join(f"{name} = {start}" for name, (start, _) in carried.items())
    types = ", ".join(["tensor<i32>", *(each for _, each in carried.values())])
    return f"""%zero = stablehlo.constant dense<0> : tensor<i32>
    %loop:{len(carried) + 1} = stablehlo.while(%i = %zero, {starts}) : {types}
    cond {{
      %n = stablehlo.constant dense<7> : tensor<i32>
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }} do {{
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      {body}
      stablehlo.return %next, {returned} : {types}
    }}"""


SHARD = "tensor<2x4xf32>"
STEP_OF_RING = f"""{permuted("%p", "%k", RING, SHARD)}
      %r = stablehlo.reverse %p, dims = [0] : {SHARD}
      %u = stablehlo.multiply %s, %r : {SHARD}
      %w = stablehlo.tanh %u : {SHARD}"""
NUMBER_OF_DEVICE = """%id = stablehlo.partition_id : tensor<ui32>
    %number = stablehlo.convert %id : (tensor<ui32>) -> tensor<f32>"""
STEP_OF_NUMBERS = f"""%d = stablehlo.sine %v : tensor<f32>
      %e = stablehlo.add %d, %number : tensor<f32>
      %f = stablehlo.broadcast_in_dim %e, dims = [] : (tensor<f32>) -> {SHARD}
      %w = stablehlo.multiply %s, %f : {SHARD}"""
WEIGHTS = "tensor<4x4xf32>"
STEP_OF_TRAINING = f"""%h = stablehlo.dot_general %b, %w, contracting_dims = [1] x [0] : ({SHARD}, {WEIGHTS}) -> {SHARD}
      %g = stablehlo.dot_general %b, %h, contracting_dims = [0] x [0] : ({SHARD}, {SHARD}) -> {WEIGHTS}
      {summed("%u", "%g", "[[0, 1], [2, 3]]", WEIGHTS)}
      %v = stablehlo.subtract %w, %u : {WEIGHTS}"""


def computation(body: str, returned: str, *, into: str, out: str, types: str) -> str:
    """Return a manual computation along both axes on shards %b of %a."""
    return f"""%0 = sdy.manual_computation(%a) in_shardings=[{into}] out_shardings=[{out}] manual_axes={{"x", "y"}}
      (%b: {SHARD}) {{
    {body}
    sdy.return {returned} : {types}"""


def program(body: str, *, results: str = "tensor<8x4xf32>", returned: str = "%0") -> str:
    """Return a program on a matrix of which each device has two rows."""
    return f"""{MESH}
func.func @main(%a: tensor<8x4xf32> {{sdy.sharding = {BY_BOTH}}}) -> {results} {{
  {body}
  return {returned} : {results}
}}"""


def of_shards(body: str, returned: str, out: str = '<@m, [{"x", "y"}, {}]>') -> str:
    """Return a program whose devices each compute two rows of the result."""
    own = computation(body, returned, into='<@m, [{"x", "y"}, {}]>', out=out, types=SHARD)
    return program(f"{own}\n  }} : (tensor<8x4xf32>) -> tensor<8x4xf32>")


RING_LOOP = repeated(STEP_OF_RING, {"%k": ("%b", SHARD), "%s": ("%b", SHARD)}, "%p, %w")
NUMBERS_LOOP = repeated(STEP_OF_NUMBERS, {"%v": ("%number", "tensor<f32>"), "%s": ("%b", SHARD)}, "%e, %w")
TRAINING_LOOP = repeated(STEP_OF_TRAINING, {"%w": ("%first", WEIGHTS)}, "%v")
FIRST = f"%first = stablehlo.constant dense<0.5> : {WEIGHTS}"
PROGRAMS = {
    "a ring in a loop": of_shards(RING_LOOP, "%loop#2"),
    "a ring in a loop, put together in another order": of_shards(RING_LOOP, "%loop#2", '<@m, [{"y", "x"}, {}]>'),
    "a line in a loop": of_shards(RING_LOOP.replace(RING, LINE), "%loop#2"),
    "numbers of devices in a loop": of_shards(f"{NUMBER_OF_DEVICE}\n    {NUMBERS_LOOP}", "%loop#2"),
    "a branch that each device chooses by its number": of_shards(
        f"""{NUMBER_OF_DEVICE}
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %first = stablehlo.compare LT, %number, %two : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %r = "stablehlo.if"(%first) ({{
      %s = stablehlo.sine %b : {SHARD}
      stablehlo.return %s : {SHARD}
    }}, {{
      %s = stablehlo.reverse %b, dims = [0] : {SHARD}
      stablehlo.return %s : {SHARD}
    }}) : (tensor<i1>) -> {SHARD}
    {permuted("%w", "%r", RING, SHARD)}""",
        "%w",
    ),
    # Its two sums over devices become one op on two operands; only one is a sum over values of the program.
    "a loss on shards of the classes": f"""{MESH}
func.func @main(%a: tensor<8x4xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{"y"}}]>}},
    %t: tensor<8xi32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}]>}}) -> tensor<8xf32> {{
  %0 = sdy.manual_computation(%a, %t) in_shardings=[<@m, [{{"x"}}, {{"y"}}]>, <@m, [{{"x"}}]>]
      out_shardings=[<@m, [{{"x"}}]>] manual_axes={{"x", "y"}} (%b: tensor<4x2xf32>, %c: tensor<4xi32>) {{
    %zeros = stablehlo.constant dense<0.0> : tensor<4xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %none = stablehlo.constant dense<0> : tensor<4xi32>
    %two = stablehlo.constant dense<2> : tensor<4xi32>
    %exp = stablehlo.exponential %b : tensor<4x2xf32>
    %sums = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32>
    {summed("%total", "%sums", "[[0, 1], [2, 3]]", "tensor<4xf32>")}
    %device = stablehlo.partition_id : tensor<ui32>
    %columns = stablehlo.constant dense<2> : tensor<ui32>
    %y = stablehlo.remainder %device, %columns : tensor<ui32>
    %first = stablehlo.multiply %y, %columns : tensor<ui32>
    %start = stablehlo.convert %first : (tensor<ui32>) -> tensor<i32>
    %starts = stablehlo.broadcast_in_dim %start, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %own = stablehlo.subtract %c, %starts : tensor<4xi32>
    %low = stablehlo.compare GE, %own, %none, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %high = stablehlo.compare LT, %own, %two, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %is_here = stablehlo.and %low, %high : tensor<4xi1>
    %at = stablehlo.reshape %own : (tensor<4xi32>) -> tensor<4x1x1xi32>
    %found = "stablehlo.gather"(%b, %at) <{{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1],
        operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>,
        slice_sizes = array<i64: 1, 1>}}> : (tensor<4x2xf32>, tensor<4x1x1xi32>) -> tensor<4x1xf32>
    %score = stablehlo.reshape %found : (tensor<4x1xf32>) -> tensor<4xf32>
    %part = stablehlo.select %is_here, %score, %zeros : tensor<4xi1>, tensor<4xf32>
    {summed("%chosen", "%part", "[[0, 1], [2, 3]]", "tensor<4xf32>")}
    %log = stablehlo.log %total : tensor<4xf32>
    %loss = stablehlo.subtract %log, %chosen : tensor<4xf32>
    sdy.return %loss : tensor<4xf32>
  }} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}}""",
    "a manual computation in another one": f"""{MESH}
func.func @main(%a: tensor<8x4xf32> {{sdy.sharding = {BY_X}}}) -> tensor<8x4xf32> {{
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{{"x"}}, {{?}}]>] out_shardings=[<@m, [{{"x"}}, {{?}}]>]
      manual_axes={{"x"}} (%b: tensor<4x4xf32>) {{
    %1 = sdy.manual_computation(%b) in_shardings=[<@m, [{{?}}, {{"y"}}]>] out_shardings=[<@m, [{{?}}, {{"y"}}]>]
        manual_axes={{"y"}} (%c: tensor<4x2xf32>) {{
      {summed("%d", "%c", "[[0, 1], [2, 3]]", "tensor<4x2xf32>")}
      %e = stablehlo.multiply %c, %d : tensor<4x2xf32>
      sdy.return %e : tensor<4x2xf32>
    }} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    sdy.return %1 : tensor<4x4xf32>
  }} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}}""",
    "sorted shards that are sent": of_shards(
        f"""%s = "stablehlo.sort"(%b) <{{dimension = 0 : i64}}> ({{
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %t = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    }}) : ({SHARD}) -> {SHARD}
    {permuted("%r", "%s", RING, SHARD)}
    %w = stablehlo.multiply %r, %s : {SHARD}""",
        "%w",
    ),
    "weights that the devices along an axis share": program(
        computation(
            f"{FIRST}\n    {TRAINING_LOOP}",
            "%loop#1",
            into='<@m, [{"x", "y"}, {}]>',
            out='<@m, [{"x"}, {}]>',
            types=WEIGHTS,
        )
        + "\n  } : (tensor<8x4xf32>) -> tensor<8x4xf32>"
    ),
    "values that one manual computation leaves to another": program(
        f"""%0:2 = sdy.manual_computation(%a) in_shardings=[<@m, [{{"x", "y"}}, {{}}]>]
      out_shardings=[<@m, [{{"x", "y"}}, {{}}]>, <@m, [{{"x", "y"}}]>] manual_axes={{"x", "y"}} (%b: {SHARD}) {{
    {NUMBER_OF_DEVICE}
    %cosine = stablehlo.cosine %number : tensor<f32>
    %row = stablehlo.reshape %cosine : (tensor<f32>) -> tensor<1xf32>
    {RING_LOOP}
    sdy.return %loop#2, %row : {SHARD}, tensor<1xf32>
  }} : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
  %1 = stablehlo.multiply %0#0, %0#0 : tensor<8x4xf32>
  %2 = sdy.manual_computation(%1, %0#1) in_shardings=[<@m, [{{"x", "y"}}, {{}}]>, <@m, [{{"x", "y"}}]>]
      out_shardings=[<@m, [{{"x", "y"}}, {{}}]>] manual_axes={{"x", "y"}} (%b: {SHARD}, %e: tensor<1xf32>) {{
    %f = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<1xf32>) -> {SHARD}
    %g = stablehlo.multiply %b, %f : {SHARD}
    {permuted("%h", "%g", RING, SHARD)}
    sdy.return %h : {SHARD}
  }} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>""",
        returned="%2",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_of_devices_are_proved_and_their_faults_are_not(name: str) -> None:
    check_proof_and_faults(PROGRAMS[name], faults=20, seeds=3)


def test_copies_that_may_differ_are_not_proved() -> None:
    """Each device returns rows of its own, though the devices along "y" must hold copies."""
    own = computation(RING_LOOP, "%loop#2", into='<@m, [{"x", "y"}, {}]>', out='<@m, [{"x"}, {}]>', types=SHARD)
    text = program(f"{own}\n  }} : (tensor<8x4xf32>) -> tensor<4x4xf32>", results="tensor<4x4xf32>")
    proof = sdy.Program.from_text(text).prove()
    assert (proof.is_proved, proof.differs) == (False, True)
    assert any("devices hold different copies of result 0" in each.message for each in proof.failures)


def test_loops_on_other_numbers_of_devices_differ() -> None:
    """A program that adds device numbers in a loop is not proved to be one that subtracts them."""
    text = PROGRAMS["numbers of devices in a loop"]
    adding, subtracting = (
        sdy.Program.from_text(each) for each in (text, text.replace("add %d, %n", "subtract %d, %n"))
    )
    other = subtracting.partition()
    assert subtracting.prove().is_proved
    assert not prove(replace(other, written=adding.module)).is_proved


def test_calls_for_their_effects_get_the_values_of_the_program() -> None:
    text = """
sdy.mesh @m = <["x"=4]>
sdy.mesh @first = <[], device_ids=[0]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  stablehlo.custom_call @xla_ffi_python_cpu_callback(%sum) {has_side_effect = true,
    mhlo.backend_config = {index = 0 : ui64}, sdy.sharding = #sdy.sharding_per_value<[<@first, []>]>}
    : (tensor<f32>) -> ()
  return %a : tensor<8xf32>
}"""
    program = sdy.Program.from_text(text)
    assert program.prove().is_proved
    largest = sdy.Program.from_text(text.replace("stablehlo.add", "stablehlo.maximum")).partition()
    failures = prove(replace(largest, written=program.module)).failures
    assert any("side effects on other values than in the program" in each.message for each in failures)
