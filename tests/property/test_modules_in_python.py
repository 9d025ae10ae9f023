"""Modules that are built in Python: every answer about them is that about the text that sdy prints for them.

The locations of the ops, which the front end of the module sets, may be missing, unique, or the same for several ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from support.random_programs.draft import Options
from support.random_programs.program import random_program
from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import BlockArgument, Operation

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import op_and_nested_ops
from sdy.dialects.module_text import parse_module, print_module
from sdy.program.program import Program

OPTIONS = Options(ops=8, executable=True, max_devices=16)


def at(line: int) -> LocationAttr:
    return FileLineColLoc(StringAttr("net.toy"), IntAttr(line), IntAttr(1))


LOCATIONS: dict[str, Callable[[int], LocationAttr]] = {
    "none": lambda _: UnknownLoc(),
    "unique": at,
    "one for all": lambda _: at(7),
    "some shared": lambda number: at(number // 3),
    "some missing": lambda number: at(number) if number % 2 else UnknownLoc(),
    "nested": lambda number: CallSiteLoc(
        NameLoc(StringAttr("layer"), at(number)), FusedLoc((at(1), at(2)), NoneAttr())
    ),
}


def located_module(text: str, location: Callable[[int], LocationAttr]) -> ModuleOp:
    """Return a module as a front end builds it."""
    module = parse_module(text)
    for number, op in enumerate(op_and_nested_ops(module), start=1):
        op.location = location(number)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    argument.location = op.location
    return module


def names_of(program: Program) -> Iterator[str]:
    """Yield the names of the arguments and of the results of the ops of the main function."""
    yield from (f"%arg{number}" for number in range(len(program.input_types)))
    ops = [op for op in main_function(program.module).body.block.ops if op.results]
    lines = [op.location for op in ops]
    yield from (str(each.line.data) for each in lines if isinstance(each, FileLineColLoc))


def answers(program: Program) -> Iterator[str]:
    """Yield what people ask about a program, without the lines of its front end."""
    yield str(program.conflicts())
    yield program.report(verbose=True)
    for name in names_of(program):
        yield str(program.explain(name))
    mesh = program.partition().boundary.mesh
    for axis in mesh.axes[:1]:
        try:
            yield str(program.why_not("%arg0", dim=0, axis=axis.name))
        except SdyError as error:
            yield str(error)


ARGUMENT = '%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
MESH = 'sdy.mesh @mesh = <["x"=4, "y"=2]>'
MODULES = {
    "calls": f"""{MESH}
func.func @main({ARGUMENT}) -> tensor<8x4xf32> {{
  %0 = call @f(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = call @f(%0) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}}
func.func private @f(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {{
  %0 = stablehlo.tanh %a : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}}""",
    "a loop": f"""module @net {{ {MESH}
func.func @main({ARGUMENT}) -> tensor<8x4xf32> {{
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %x = %a) : tensor<i32>, tensor<8x4xf32>
  cond {{
    %n = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %n = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %n : tensor<i32>
    %y = stablehlo.sine %x : tensor<8x4xf32>
    stablehlo.return %j, %y : tensor<i32>, tensor<8x4xf32>
  }}
  return %0#1 : tensor<8x4xf32>
}} }}""",
    "a branch": f"""{MESH}
func.func @main({ARGUMENT}, %i: tensor<i32>) -> tensor<8x4xf32> {{
  %0 = "stablehlo.case"(%i) ({{
    %1 = stablehlo.sine %a : tensor<8x4xf32>
    stablehlo.return %1 : tensor<8x4xf32>
  }}, {{
    stablehlo.return %a : tensor<8x4xf32>
  }}) : (tensor<i32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}}""",
    "a product": f"""{MESH}
func.func @main({ARGUMENT}, %w: tensor<4x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}})
    -> (tensor<8x8xf32>, tensor<8x4xf32>) {{
  %0 = stablehlo.dot %a, %w : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.sine %a : tensor<8x4xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x4xf32>
}}""",
    "a manual computation": f"""{MESH}
func.func @main({ARGUMENT}) -> tensor<8x4xf32> {{
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{{"x"}}, {{}}]>] out_shardings=[<@mesh, [{{"x"}}, {{}}]>]
      manual_axes={{"x"}} (%b: tensor<2x4xf32>) {{
    %1 = stablehlo.sine %b : tensor<2x4xf32>
    sdy.return %1 : tensor<2x4xf32>
  }} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = sdy.sharding_constraint %0 <@mesh, [{{}}, {{"y"}}]> : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}}""",
    "two results": f"""{MESH}
func.func @main({ARGUMENT}) -> (tensor<8x2xf32>, tensor<8x2xi32>) {{
  %0:2 = chlo.top_k(%a, k = 2) : tensor<8x4xf32> -> (tensor<8x2xf32>, tensor<8x2xi32>)
  return %0#0, %0#1 : tensor<8x2xf32>, tensor<8x2xi32>
}}""",
}


@pytest.mark.parametrize("kind", ["none", "one for all"])
@pytest.mark.parametrize("name", MODULES)
def test_answers_about_several_functions_and_regions(name: str, kind: str) -> None:
    module = located_module(MODULES[name], LOCATIONS[kind])
    check_answers(module)
    assert Program.from_module(module).verify().verdict.value == "the same function"


@pytest.mark.parametrize("kind", LOCATIONS)
@pytest.mark.parametrize("seed", range(4))
def test_answers_are_those_about_the_text(seed: int, kind: str) -> None:
    check_answers(located_module(random_program(seed, OPTIONS), LOCATIONS[kind]))


def check_answers(module: ModuleOp) -> None:
    built = Program.from_module(module)
    read = Program.from_text(print_module(module), "<module>")
    assert built.origin.text == read.origin.text
    places = [(str(op.location), op.name) for op in op_and_nested_ops(built.module)]
    assert places == [(str(op.location), op.name) for op in op_and_nested_ops(read.module)]
    without_sources = Program(built.module, read.origin)
    assert list(answers(without_sources)) == list(answers(read))


def program_of(*locations: LocationAttr) -> Program:
    """Return a program whose first argument and two ops have these locations."""
    module = parse_module("""
        sdy.mesh @mesh = <["x"=4]>
        func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
          %0 = stablehlo.tanh %a : tensor<8x4xf32>
          %1 = stablehlo.sine %0 : tensor<8x4xf32>
          return %1 : tensor<8x4xf32>
        }
    """)
    block = main_function(module).body.block
    items: list[BlockArgument | Operation] = [block.args[0], *list(block.ops)[:2]]
    for item, location in zip(items, locations, strict=True):
        item.location = location
    return Program.from_module(module)


def test_the_locations_of_a_front_end_are_sources() -> None:
    program = program_of(NameLoc(StringAttr("weights"), NoneAttr()), at(12), at(12))
    assert "line 4 (net.toy:12)  %0 = stablehlo.tanh: from operand 0 (weights)" in str(program.explain("%1"))
    assert "weights: annotated" in str(program.explain("weights"))


def test_several_ops_at_one_location_are_told_apart() -> None:
    program = program_of(at(3), at(12), at(12))
    assert str(program.explain("%0")).startswith("%0 (stablehlo.tanh, line 4 (net.toy:12))")
    assert str(program.explain("%1")).startswith("%1 (stablehlo.sine, line 5 (net.toy:12))")


def test_the_module_may_change_afterwards() -> None:
    module = parse_module(
        'sdy.mesh @mesh = <["x"=4]>\nfunc.func @main(%a: tensor<8xf32>) -> tensor<8xf32> { return %a : tensor<8xf32> }'
    )
    before = Program.from_module(module)
    main_function(module).detach()
    assert "@main" in repr(before.partition())


def test_a_module_is_verified() -> None:
    module = parse_module('func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})')
    with pytest.raises(SdyError, match="mesh @mesh is not defined"):
        sdy.Program.from_module(module)
