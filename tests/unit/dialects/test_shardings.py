"""Tests of reading and writing shardings of values, and of the data flow edges of region ops."""

from __future__ import annotations

import pytest
from support.model.notation import mesh, sharding
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from sdy.dialects.data_flow import (
    EdgeSource,
    argument_owners,
    edge_of_source,
    edge_of_target,
    has_data_flow_edges,
    other_targets_of,
    owner_of_source,
    owner_of_target,
    result_owners,
    sources_of,
)
from sdy.dialects.meshes import meshes_of, visible_meshes
from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.sharded_types import global_type, local_type
from sdy.dialects.shardings import (
    argument_shardings,
    function_result_sharding,
    function_result_shardings,
    result_shardings,
    set_function_result_sharding,
    set_result_shardings,
    set_sharding,
    sharding_before_barriers,
    sharding_of,
    storing_value,
)
from sdy.model.sharding_update import fully_open

TEXT = """
sdy.mesh @m = <["a"=2, "b"=2]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %y: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"b"}, {}]>}) {
  %plain:2 = "some.op"(%x) : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<f32>)
  %known = stablehlo.abs %x {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"b"}, {?}]>]>} : tensor<8x8xf32>
  %constraint = sdy.sharding_constraint %known <@m, [{?}, {"b"}]> : tensor<8x8xf32>
  %slice = sdy.all_slice [{"a"}, {}] %y out_sharding=<@m, [{"a"}, {}]> : tensor<8x8xf32>
  %barrier = sdy.propagation_barrier %known allowed_direction=NONE : tensor<8x8xf32>
  %manual = sdy.manual_computation(%x) in_shardings=[<@m, [{"a", "b"}, {?}]>]
      out_shardings=[<@m, [{"a"}, {}]>] manual_axes={"a"} (%inner: tensor<4x8xf32>) {
    %edge = sdy.data_flow_edge %inner sharding=<@m, [{"b"}, {?}]> : tensor<4x8xf32>
    sdy.return %edge : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %named = sdy.named_computation<"n">(%x) (%inside: tensor<8x8xf32>) {
    sdy.return %inside : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %while = stablehlo.while(%it = %x) : tensor<8x8xf32>
      attributes {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"a"}]>]>} cond {
    %true = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %true : tensor<i1>
  } do {
    %next = stablehlo.negate %it : tensor<8x8xf32>
    stablehlo.return %next : tensor<8x8xf32>
  }
  %kept:2 = stablehlo.optimization_barrier %x, %y : tensor<8x8xf32>, tensor<8x8xf32>
  return %plain#0, %known : tensor<8x8xf32>, tensor<8x8xf32>
}
"""


@pytest.fixture
def module() -> ModuleOp:
    return parse_module(TEXT, context=make_context(allow_unregistered=True))


@pytest.fixture
def func(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp))


NAMES = {
    "plain": "builtin.unregistered",
    "known": "stablehlo.abs",
    "constraint": "sdy.sharding_constraint",
    "slice": "sdy.all_slice",
    "barrier": "sdy.propagation_barrier",
    "manual": "sdy.manual_computation",
    "edge": "sdy.data_flow_edge",
    "named": "sdy.named_computation",
    "while": "stablehlo.while",
    "kept": "stablehlo.optimization_barrier",
}


def op_called(func: FuncOp, name: str) -> Operation:
    """Return the op whose first result is `%name` in the text."""
    return next(op for op in func.walk() if op.name == NAMES[name])


def value(func: FuncOp, name: str) -> SSAValue:
    return op_called(func, name).results[0]


def test_sharding_of_each_kind_of_value(func: FuncOp) -> None:
    assert sharding_of(func.args[0]) == sharding('[{"a"}, {}]')
    assert sharding_of(func.args[1]) is None
    assert sharding_of(value(func, "plain")) is None
    assert sharding_of(value(func, "known")) == sharding('[{"b"}, {?}]')
    assert sharding_of(value(func, "constraint")) == sharding('[{?}, {"b"}]')
    assert sharding_of(value(func, "slice")) == sharding('[{"a"}, {}]')
    assert sharding_of(value(func, "barrier")) is None
    assert sharding_before_barriers(value(func, "barrier")) == sharding('[{"b"}, {?}]')
    assert sharding_of(value(func, "manual")) == sharding('[{"a"}, {}]')
    assert sharding_of(value(func, "named")) is None
    assert sharding_of(value(func, "while")) == sharding('[{}, {"a"}]')


def test_an_edge_stores_the_sharding_of_its_owner(func: FuncOp) -> None:
    manual = op_called(func, "manual")
    argument = manual.regions[0].block.args[0]
    edge = value(func, "edge")
    assert storing_value(argument) is edge
    assert sharding_of(argument) == sharding_of(edge) == sharding('[{"b"}, {?}]')
    set_sharding(argument, sharding('[{?}, {"b"}]'))
    assert sharding_of(edge) == sharding('[{?}, {"b"}]')


def test_a_block_argument_without_an_edge_is_sharded_without_the_manual_axes(func: FuncOp) -> None:
    manual = op_called(func, "manual")
    argument = manual.regions[0].block.args[0]
    edge = op_called(func, "edge")
    edge.results[0].replace_all_uses_with(argument)
    edge.detach()
    edge.erase()
    assert sharding_of(argument) == sharding('[{"b"}, {?}]')
    set_sharding(argument, sharding('[{?}, {"b"}]'))
    in_shardings = manual.properties["in_shardings"]
    assert str(in_shardings) == '#sdy.sharding_per_value<[<@m, [{"a", ?}, {"b"}]>]>'


def test_the_arguments_of_a_loop_share_the_sharding_of_its_result(func: FuncOp) -> None:
    loop = op_called(func, "while")
    for region in loop.regions:
        assert sharding_of(region.block.args[0]) == sharding('[{}, {"a"}]')
    set_sharding(loop.regions[1].block.args[0], sharding('[{"b"}, {}]'))
    assert sharding_of(loop.results[0]) == sharding('[{"b"}, {}]')


def test_writing_to_an_op_without_shardings_opens_its_other_results(func: FuncOp) -> None:
    plain = op_called(func, "plain")
    set_sharding(plain.results[0], sharding('[{"a"}, {}]'))
    assert result_shardings(plain) == (sharding('[{"a"}, {}]'), fully_open("m", 0))
    set_sharding(plain.results[1], sharding("[]"))
    assert result_shardings(plain) == (sharding('[{"a"}, {}]'), sharding("[]"))


@pytest.mark.parametrize("name", ["known", "constraint", "slice", "barrier", "manual", "named", "while", "kept"])
def test_set_sharding_round_trips(func: FuncOp, name: str) -> None:
    new = sharding('[{"a", "b", ?}, {?}]')
    set_sharding(value(func, name), new)
    assert sharding_of(value(func, name)) == new


def test_function_arguments_and_results(module: ModuleOp, func: FuncOp) -> None:
    set_sharding(func.args[1], sharding('[{}, {"b"}]'))
    assert sharding_of(func.args[1]) == sharding('[{}, {"b"}]')
    assert function_result_sharding(func, 0) is None
    assert function_result_shardings(func, meshes_of(module)) == (fully_open("m", 2), sharding('[{"b"}, {}]'))
    set_function_result_sharding(func, 0, sharding('[{"a"}, {}]'))
    assert function_result_sharding(func, 0) == sharding('[{"a"}, {}]')
    assert function_result_sharding(func, 1) == sharding('[{"b"}, {}]')


def test_single_device_shardings_are_skipped_for_the_default_mesh() -> None:
    module = parse_module(
        "sdy.mesh @one = <[], device_ids=[0]>\n"
        "func.func @f(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@one, []>}, %y: tensor<8xf32>) { return }"
    )
    func = next(op for op in module.ops if isinstance(op, FuncOp))
    assert argument_shardings(func, meshes_of(module)) is None


def test_empty_shardings_are_not_written(func: FuncOp) -> None:
    plain = op_called(func, "plain")
    set_result_shardings(plain, ())
    assert result_shardings(plain) is None


def test_arguments_of_other_regions_have_no_sharding() -> None:
    module = parse_module(
        '"some.op"() ({\n^bb0(%arg: tensor<8xf32>):\n  "some.end"(%arg) : (tensor<8xf32>) -> ()\n}) : () -> ()',
        context=make_context(allow_unregistered=True),
    )
    argument = next(iter(module.ops)).regions[0].block.args[0]
    assert storing_value(argument) is None
    assert sharding_of(argument) is None
    set_sharding(argument, sharding("[{}]"))
    assert sharding_of(argument) is None


def test_arguments_of_async_start_have_operand_shardings() -> None:
    module = parse_module(
        "func.func @f(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) {\n"
        '%0 = "stablehlo.async_start"(%x) ({\n^bb0(%arg: tensor<8xf32>):\n  stablehlo.return %arg : tensor<8xf32>\n})'
        " : (tensor<8xf32>) -> !stablehlo.future<tensor<8xf32>>\nreturn\n}",
        context=make_context(allow_unregistered=True),
    )
    start = next(op for op in module.walk() if op.name == "stablehlo.async_start")
    assert sharding_of(start.regions[0].block.args[0]) == sharding("[{}]")


def test_edges_of_a_manual_computation(func: FuncOp) -> None:
    manual = op_called(func, "manual")
    assert has_data_flow_edges(manual)
    argument, terminator = manual.regions[0].block.args[0], manual.regions[0].block.last_op
    assert terminator is not None
    assert result_owners(manual) == tuple(manual.results)
    assert argument_owners(manual) == (argument,)
    assert sources_of(argument) == (EdgeSource(manual, 0),)
    assert sources_of(manual.results[0]) == (EdgeSource(terminator, 0),)
    assert owner_of_target(argument) is argument
    assert owner_of_source(EdgeSource(terminator, 0)) is manual.results[0]
    assert owner_of_source(EdgeSource(manual, 0)) is manual.operands[0]  # as in Shardy
    assert edge_of_target(argument) is op_called(func, "edge")
    assert edge_of_source(EdgeSource(manual, 0)) is None


def test_edges_of_a_loop(func: FuncOp) -> None:
    loop = op_called(func, "while")
    assert has_data_flow_edges(loop)
    cond, body = loop.regions[0].block, loop.regions[1].block
    assert cond.last_op is not None
    assert body.last_op is not None
    assert argument_owners(loop) == ()
    assert sources_of(loop.results[0]) == (EdgeSource(loop, 0), EdgeSource(body.last_op, 0))
    assert other_targets_of(loop.results[0]) == (cond.args[0], body.args[0])
    assert owner_of_target(body.args[0]) is loop.results[0]
    assert owner_of_source(EdgeSource(loop, 0)) is loop.results[0]
    assert owner_of_source(EdgeSource(body.last_op, 0)) is loop.results[0]
    assert owner_of_source(EdgeSource(cond.last_op, 0)) is None


def test_edges_of_an_optimization_barrier(func: FuncOp) -> None:
    barrier = op_called(func, "kept")
    assert has_data_flow_edges(barrier)
    assert sources_of(barrier.results[1]) == (EdgeSource(barrier, 1),)
    assert EdgeSource(barrier, 1).value is func.args[1]
    assert owner_of_source(EdgeSource(barrier, 1)) is barrier.results[1]
    assert other_targets_of(barrier.results[1]) == ()


def test_edges_of_a_case() -> None:
    module = parse_module(
        "func.func @f(%i: tensor<i32>, %x: tensor<8xf32>, %y: tensor<8xf32>) {\n"
        '%0 = "stablehlo.case"(%i) ({\n  stablehlo.return %x : tensor<8xf32>\n}, {\n'
        "  stablehlo.return %y : tensor<8xf32>\n}) : (tensor<i32>) -> tensor<8xf32>\nreturn\n}"
    )
    case = next(op for op in module.walk() if op.name == "stablehlo.case")
    ends = [region.block.last_op for region in case.regions]
    assert [source.op for source in sources_of(case.results[0])] == ends
    assert owner_of_source(EdgeSource(case, 0)) is None
    assert ends[1] is not None
    assert owner_of_source(EdgeSource(ends[1], 0)) is case.results[0]


def test_other_ops_have_no_edges(func: FuncOp) -> None:
    known = op_called(func, "known")
    assert not has_data_flow_edges(known)
    assert owner_of_target(known.results[0]) is None
    assert owner_of_source(EdgeSource(known, 0)) is None


def test_visible_meshes(module: ModuleOp, func: FuncOp) -> None:
    assert list(meshes_of(module)) == ["m", "one"]
    assert visible_meshes(op_called(func, "edge"))["m"] == mesh('<["a"=2, "b"=2]>')
    assert visible_meshes(module) == {}


def test_local_and_global_types(func: FuncOp) -> None:
    whole = func.args[0].type
    grid = mesh('<["a"=2, "b"=2]>')
    assert str(local_type(whole, sharding('[{"a", "b"}, {"a"}]'), grid)) == "tensor<2x4xf32>"
    assert local_type(whole, sharding('[{"c"}, {}]'), mesh('<["c"=3]>'), allow_uneven=False) is None
    assert str(global_type(whole, sharding('[{"a"}, {}]'), grid)) == "tensor<16x8xf32>"
    assert global_type(whole, sharding("[]"), grid) is whole
