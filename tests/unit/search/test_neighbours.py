"""Named dims join the dims that rules tie; the neighbours of a candidate differ in the named dims of one axis."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument

import sdy
from sdy.advice.edits import Edit
from sdy.dialects.ir.symbols import main_function
from sdy.report.notation import read_mesh
from sdy.search.annotations import for_jit
from sdy.search.neighbours import Neighbours, named_dims
from sdy.search.searched_module import SearchedModule, prepared_module, without_shardings

MLP = """
func.func @main(%x: tensor<8x16xf32>, %up: tensor<16x32xf32>, %down: tensor<32x16xf32> FIXED) -> tensor<8x16xf32> {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = stablehlo.dot_general %0, %down, contracting_dims = [1] x [0]
      : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
"""
FIXED = '{sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}]>}'


def searched(mesh: str = "a=4,b=2") -> tuple[ModuleOp, SearchedModule]:
    module = without_shardings(sdy.Program.from_text(MLP.replace("FIXED", "")).module, read_mesh(mesh))
    return module, prepared_module(module).on(read_mesh(mesh))


def shown(edits: Sequence[Edit]) -> dict[int, str]:
    """Return the shardings of arguments by position, as the axes of each dim."""
    found: dict[int, str] = {}
    for edit in edits:
        assert isinstance(edit.target, BlockArgument)
        found[edit.target.index] = " ".join(
            "".join(axis.name for axis in dim.axes) or "-" for dim in edit.sharding.dims
        )
    return found


def test_dims_of_one_factor_have_one_name() -> None:
    _, program = searched()
    names = [{(each.argument, each.dim) for each in named} for named in named_dims(program)]
    assert names == [{(0, 0)}, {(0, 1), (1, 0)}, {(1, 1), (2, 0)}, {(2, 1)}]
    assert [named[0].size for named in named_dims(program)] == [8, 16, 32, 16]


def test_an_axis_shards_a_named_dim_in_all_arguments() -> None:
    neighbours = Neighbours(*searched())
    assert [axis.name for axis in neighbours.axes] == ["a", "b"]
    found = [shown(edits) for edits in neighbours.along_axis((), neighbours.axes[0])]
    for expected in ({}, {0: "a -"}, {0: "- a", 1: "a -"}, {1: "- a", 2: "a -"}, {2: "- a"}):
        assert expected in found


def test_a_named_dim_is_added_or_removed() -> None:
    module, program = searched()
    neighbours = Neighbours(module, program)
    axis = neighbours.axes[0]
    start = next(edits for edits in neighbours.along_axis((), axis) if shown(edits) == {1: "- a", 2: "a -"})
    found = [shown(edits) for edits in neighbours.along_axis(start, axis)]
    assert {0: "a -", 1: "- a", 2: "a -"} in found  # one more
    assert {0: "- a", 1: "- a", 2: "a -"} in found  # the second argument keeps its axis
    assert {} in found
    other = [shown(edits) for edits in neighbours.along_axis(start, neighbours.axes[1])]
    assert {1: "- ab", 2: "ab -"} in other


def test_an_axis_that_does_not_divide_shards_nothing() -> None:
    neighbours = Neighbours(*searched("a=3"))
    assert all(shown(edits) == {} for edits in neighbours.along_axis((), neighbours.axes[0]))


def test_annotations_of_the_user_stay() -> None:
    _, program = searched()
    mesh = 'sdy.mesh @mesh = <["a"=4, "b"=2]>\n'
    written = sdy.Program.from_text(mesh + MLP.replace("FIXED", FIXED)).module
    neighbours = Neighbours(written, program)
    for axis in neighbours.axes:
        assert all(2 not in shown(edits) for edits in neighbours.along_axis((), axis))
    assert all(2 not in shown(edits) for edits in neighbours.of_arguments(()))
    assert {0: "a b"} in map(shown, neighbours.of_arguments(()))


def test_the_usual_plans_are_data_parallelism_with_the_state_replicated_or_sharded() -> None:
    found = [shown(edits) for edits in Neighbours(*searched()).usual({1, 2})]
    sharded = {1: "- ab", 2: "ab -"}
    assert found == [{0: "ab -"}, {0: "ab -"} | sharded, {0: "- ab"}, {0: "- ab"} | sharded]
    uneven = [shown(edits) for edits in Neighbours(*searched("a=16")).usual({1, 2})]
    assert uneven == [{0: "- a"}, {0: "- a", 1: "- a", 2: "a -"}]


def test_the_next_value_of_an_argument_gets_its_sharding() -> None:
    module, program = searched()
    x, up, _ = main_function(module).body.block.args
    batch, both = list(Neighbours(module, program).usual({1}))[:2]
    replicated, sharded = (
        {edit.target: str(edit.sharding) for edit in for_jit(module, edits, {0: 1}, "mesh")} for edits in (batch, both)
    )
    assert replicated[0] == replicated[up] == "<@mesh, [{}, {}]>"
    assert sharded[0] == sharded[up] == '<@mesh, [{}, {"a", "b"}]>'
    assert replicated[x] == '<@mesh, [{"a", "b"}, {}]>'
