"""Cumulative ops along sharded dims are proved in any size, and no wrong combination of their parts is."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from support.execution.one_op import is_proved, is_right, placement, program, small_array
from support.slow_cases import slow_except

from sdy.evidence.proof.relations import FREE, Digit, View
from sdy.evidence.proof.terms import TermTable
from sdy.evidence.proof.windows.cumulative import IN_BLOCKS, TOTAL, Blocks, with_other_blocks
from sdy.model.devices.placement import ProgramPlacement
from sdy.model.mesh import Mesh, MeshAxis
from sdy.program.program import Program

NEUTRAL = {"add": "0.0", "multiply": "1.0", "maximum": "0xFF800000", "minimum": "0x7F800000"}
MESHES = ('<["x"=4, "y"=2]>', '<["x"=4, "y"=2], device_ids=[6, 1, 0, 3, 2, 7, 4, 5]>')


def cumulative(name: str, shape: str, windows: list[int], padding: list[list[int]], element: str, init: str) -> str:
    rank = len(windows)
    return f""""stablehlo.reduce_window"({name}, {init}) <{{
      window_dimensions = array<i64: {", ".join(map(str, windows))}>,
      padding = dense<{padding}> : tensor<{rank}x2xi64>}}> ({{
  ^bb0(%p: tensor<{element}>, %q: tensor<{element}>):
    %s = stablehlo.KIND %p, %q : tensor<{element}>
    stablehlo.return %s : tensor<{element}>
  }}) : (tensor<{shape}x{element}>, tensor<{element}>) -> tensor<{shape}x{element}>"""


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("from_last", [False, True])
@pytest.mark.parametrize(("kind", "dims", "axes"), [
    ("add", (0,), '{"x"}, {"y"}'),
    ("multiply", (0,), '{"x", "y"}, {}'),
    ("maximum", (1,), '{"y"}, {"x"}'),
    ("minimum", (0, 1), '{"x"}, {"y"}'),
])  # fmt: skip
def test_large_ones_are_proved(kind: str, dims: tuple[int, ...], axes: str, from_last: bool, mesh: str) -> None:
    sizes = (4096, 512)  # too large to follow each element
    windows = [size if dim in dims else 1 for dim, size in enumerate(sizes)]
    padding = [[0, each - 1] if from_last else [each - 1, 0] for each in windows]
    tensor = "tensor<4096x512xf32>"
    op = cumulative("%a", "4096x512", windows, padding, "f32", "%init").replace("KIND", kind)
    sharding = f"{{sdy.sharding = #sdy.sharding<@m, [{axes}]>}}"
    found = Program.from_text(f"""sdy.mesh @m = {mesh}
func.func @main(%a: {tensor} {sharding}) -> ({tensor} {sharding}) {{
  %init = stablehlo.constant dense<{NEUTRAL[kind]}> : tensor<f32>
  %0 = {op}
  return %0 : {tensor}
}}""")
    assert "all_gather" in str(found.partition().local)
    assert found.prove().is_proved


def local_text(kinds: tuple[str, str, str], at: int, compare: str, table: str, groups: str, padding: list[int]) -> str:
    """Return a local program that combines a cumulative op on shards of two rows with totals of other shards.

    `kinds` are the ops that accumulate a shard, reduce the totals, and combine both.
    """
    kind, reducer, combiner = kinds
    op = cumulative("%arg0", "2x3", [2, 1], [padding, [0, 0]], "i32", "%init").replace("KIND", kind)
    return program(
        f"""%init = stablehlo.constant dense<0> : tensor<i32>
  %own = {op}
  %total = stablehlo.slice %own [{at}:{at + 1}, 0:3] : (tensor<2x3xi32>) -> tensor<1x3xi32>
  %totals = "stablehlo.all_gather"(%total) <{{all_gather_dim = 0 : i64, replica_groups = dense<[{groups}]> :
      tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}}>
      : (tensor<1x3xi32>) -> tensor<4x3xi32>
  %indices = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
  %table = stablehlo.constant dense<{table}> : tensor<4xi64>
  %device = stablehlo.partition_id : tensor<ui32>
  %number = stablehlo.convert %device : (tensor<ui32>) -> tensor<i64>
  %slice = stablehlo.dynamic_slice %table, %number, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
  %index = stablehlo.reshape %slice : (tensor<1xi64>) -> tensor<i64>
  %every = stablehlo.broadcast_in_dim %index, dims = [] : (tensor<i64>) -> tensor<4xi64>
  %before = stablehlo.compare {compare}, %indices, %every : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
  %mask = stablehlo.broadcast_in_dim %before, dims = [0] : (tensor<4xi1>) -> tensor<4x3xi1>
  %zeros = stablehlo.broadcast_in_dim %init, dims = [] : (tensor<i32>) -> tensor<4x3xi32>
  %chosen = stablehlo.select %mask, %totals, %zeros : tensor<4x3xi1>, tensor<4x3xi32>
  %sum = stablehlo.reduce(%chosen init: %init) applies stablehlo.{reducer} across dimensions = [0]
      : (tensor<4x3xi32>, tensor<i32>) -> tensor<3xi32>
  %others = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<3xi32>) -> tensor<2x3xi32>
  %r = stablehlo.{combiner} %others, %own : tensor<2x3xi32>""",
        ["tensor<2x3xi32>"],
        "tensor<2x3xi32>",
    )


ADD, OR, OTHER_REDUCTION, OTHER_LAST = ("add",) * 3, ("or",) * 3, ("add", "or", "add"), ("add", "add", "or")
SMALL = [*product((ADD, OR, OTHER_REDUCTION, OTHER_LAST), (False, True))]


@pytest.mark.parametrize(
    "case", slow_except([(ADD, False), (OR, True), (OTHER_REDUCTION, True), (OTHER_LAST, False)], SMALL), ids=str
)
def test_whatever_is_proved_of_small_ones_is_right(case: tuple[tuple[str, str, str], bool]) -> None:
    kinds, from_last = case
    mesh = Mesh((MeshAxis("x", 4),))
    rows = placement((8, 3), (("x",), ()), mesh)
    boundary = ProgramPlacement(mesh, (rows,), (rows,))
    op = cumulative("%arg0", "8x3", [8, 1], [[0, 7] if from_last else [7, 0], [0, 0]], "i32", "%init")
    init = "%init = stablehlo.constant dense<0> : tensor<i32>"
    whole = program(f"{init}\n  %r = {op.replace('KIND', kinds[0])}", ["tensor<8x3xi32>"], "tensor<8x3xi32>")
    proved = 0
    for at, compare, table, groups, padding in product(
        (0, 1),
        ("LT", "LE", "GT", "GE", "NE"),
        ("[0, 1, 2, 3]", "[1, 2, 3, 4]", "[3, 2, 1, 0]"),
        ("[0, 1, 2, 3]", "[3, 2, 1, 0]"),
        ([1, 0], [0, 1]),
    ):
        local = local_text(kinds, at, compare, table, groups, padding)
        if is_proved(local, whole, boundary):
            proved += 1
            assert is_right(local, whole, boundary, [small_array((8, 3), 5)]), local
    # The blocks after the own one are also those at least one after it.
    assert proved == (0 if len(set(kinds)) > 1 else 2 if from_last else 1)


def test_nothing_is_known_of_what_is_outside_of_a_combination() -> None:
    table, blocks = TermTable(), Blocks(0, 2, "add", from_last=False)
    zero, whole = table.make("constant", b"", (), (), "i32"), table.make("argument", 0, (), (8, 3), "i32")
    own = table.make(IN_BLOCKS, blocks, (whole,), (8, 3), "i32")
    total = table.make(TOTAL, blocks, (whole,), (5, 3), "i32")
    columns = (Digit(5, 1, 1),)  # two more than there are
    of_block = View(own, (2, 0), ((Digit(2, 0, 1),), columns), outside=zero)
    before = View(total, (1, 0), ((Digit(2, FREE, 0),), columns))
    assert with_other_blocks("add", [before, of_block]) == View(whole, (2, 0), of_block.dims)
    assert with_other_blocks("add", [replace(before, base=(2, 0)), of_block]) is None
