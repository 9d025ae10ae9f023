"""The sharding rule of `chlo.ragged_dot`: with ragged rows, ragged summands, and batches, along every dim."""

from __future__ import annotations

import pytest

import sdy
from sdy.cost.flops import op_flops
from sdy.dialects.chlo.structured import RaggedDotOp
from sdy.dialects.ir.walk import ops_of
from sdy.grammar.write import write_rule
from sdy.rules.partitioner_rules import own_rule

ROWS = (
    "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], "
    "rhs_group_dimensions = [0]"
)
SUMMANDS = (
    "lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0], "
    "rhs_group_dimensions = []"
)
BATCHED = (
    "lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], "
    "rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]"
)
Shapes = tuple[tuple[int, ...], ...]
CASES: dict[str, tuple[str, Shapes, str]] = {
    "rows": (ROWS, ((8, 4), (3, 4, 6), (3,), (8, 6)), "([j, l], [i, l, k], [i])->([j, k])"),
    "summands": (SUMMANDS, ((8, 4), (8, 6), (3,), (3, 4, 6)), "([l, j], [l, k], [i])->([i, j, k])"),
    "batches": (BATCHED, ((2, 8, 4), (3, 2, 4, 6), (3,), (2, 8, 6)), "([j, k, m], [i, j, m, l], [i])->([j, k, l])"),
    "own sizes": (
        BATCHED,
        ((2, 8, 4), (3, 2, 4, 6), (2, 3), (2, 8, 6)),
        "([j, k, m], [i, j, m, l], [j, i])->([j, k, l])",
    ),
}


def program(name: str, sharded: tuple[int, int] | None = None) -> sdy.Program:
    """Return a product whose lhs and rhs are sharded along one dim each."""
    numbers, shapes, _ = CASES[name]
    types = ["x".join(map(str, shape)) + ("xi32" if place == 2 else "xf32") for place, shape in enumerate(shapes)]
    lhs, rhs, sizes, result = (f"tensor<{each}>" for each in types)
    shardings = ["", ""]
    for place, axis in enumerate("xy" if sharded else ""):
        dims = [f'{{"{axis}"}}' if sharded and dim == sharded[place] else "{}" for dim in range(len(shapes[place]))]
        shardings[place] = f" {{sdy.sharding = #sdy.sharding<@m, [{', '.join(dims)}]>}}"
    return sdy.Program.from_text(f"""
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%l: {lhs}{shardings[0]}, %r: {rhs}{shardings[1]}, %s: {sizes}) -> {result} {{
  %0 = "chlo.ragged_dot"(%l, %r, %s) <{{ragged_dot_dimension_numbers = #chlo.ragged_dot<{numbers}>}}>
      : ({lhs}, {rhs}, {sizes}) -> {result}
  return %0 : {result}
}}""")


def op_of(program: sdy.Program) -> RaggedDotOp:
    (op,) = ops_of(program.module, RaggedDotOp)
    return op


@pytest.mark.parametrize("name", CASES)
def test_the_rule_has_a_factor_for_every_dim(name: str) -> None:
    rule = own_rule(op_of(program(name)))
    assert rule is not None
    assert write_rule(rule).split(" {")[0].removeprefix("<") == CASES[name][2]


SHARDED = [
    (name, lhs, rhs)
    for name, (_, shapes, _) in CASES.items()
    for lhs, size in enumerate(shapes[0])
    for rhs, columns in enumerate(shapes[1])
    if size % 2 == columns % 2 == 0
]


@pytest.mark.parametrize(("name", "lhs", "rhs"), SHARDED)
def test_shards_compute_the_same(name: str, lhs: int, rhs: int) -> None:
    assert all(output.agrees for output in program(name, (lhs, rhs)).verify())


@pytest.mark.parametrize(
    ("name", "sharded", "collectives"),
    [
        ("rows", (1, 1), ["collective-permute", "all-reduce"]),  # both axes shard the summands
        ("rows", (0, 2), ["all-gather"]),  # the rows, whose places in groups count from the first
        ("summands", (1, 1), []),
        ("batches", (0, 3), []),
        ("batches", (2, 3), ["all-reduce"]),
    ],
)
def test_only_ragged_dims_and_groups_are_gathered(name: str, sharded: tuple[int, int], collectives: list[str]) -> None:
    cost = program(name, sharded).cost("tpu_v5e")
    assert [each.kind.value for each in cost.collectives] == collectives


def test_every_row_is_multiplied_once() -> None:
    assert op_flops(op_of(program("rows"))) == 2 * 8 * 4 * 6
    assert op_flops(op_of(program("summands"))) == 2 * 8 * 4 * 6
    assert op_flops(op_of(program("batches"))) == 2 * 2 * 8 * 4 * 6
