"""Concatenation along a sharded dim: devices exchange slices of their shards by permutes."""

from __future__ import annotations

import numpy as np
import pytest
from support.execution.on_shards import assert_same_on_shards, count_of_collectives

from sdy.cost.collectives import CollectiveKind
from sdy.cost.statistics import statistics_of
from sdy.program.program import Program

MESHES = ('<["x"=4, "y"=2]>', '<["x"=4, "y"=2], device_ids=[6, 1, 0, 3, 2, 7, 4, 5]>')


def concatenation(
    sizes: tuple[int, ...], shardings: list[str], result_sharding: str, element: str = "f32", mesh: str = ""
) -> Program:
    """Return a program that concatenates operands of `sizes` rows with the dim shardings `shardings`."""
    types = [f"tensor<{size}x6x{element}>" for size in sizes]
    arguments = ", ".join(
        f"%a{index}: {each} {{sdy.sharding = #sdy.sharding<@m, {sharding}>}}"
        for index, (each, sharding) in enumerate(zip(types, shardings, strict=True))
    )
    result = f"tensor<{sum(sizes)}x6x{element}>"
    return Program.from_text(f"""
sdy.mesh @m = {mesh or MESHES[0]}
func.func @main({arguments}) -> ({result} {{sdy.sharding = #sdy.sharding<@m, {result_sharding}>}}) {{
  %0 = stablehlo.concatenate {", ".join(f"%a{index}" for index in range(len(sizes)))}, dim = 0
    : ({", ".join(types)}) -> {result}
  return %0 : {result}
}}""")


def random_inputs(program: Program) -> list[np.ndarray]:
    generator = np.random.default_rng(11)
    return [generator.integers(0, 100, shape).astype(dtype) for shape, dtype in program.input_types]


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize(
    ("sizes", "sharding", "permutes"),
    [
        ((64, 64), '[{"x"}, {}]', 2),
        ((8, 8), '[{"y"}, {}]', 1),
        ((16, 16), '[{"y", "x"}, {}]', 2),
        ((16, 16), '[{"x":(2)2, "y"}, {}]', 2),
        ((16, 8), '[{"x"}, {"y"}]', 2),
        ((64, 4), '[{"x"}, {}]', 3),
        ((4, 0, 8, 4), '[{"x"}, {}]', 4),
    ],
)
def test_few_permutes_exchange_the_slices(sizes: tuple[int, ...], sharding: str, permutes: int, mesh: str) -> None:
    for element in ("f32", "i1", "bf16"):
        program = concatenation(sizes, [sharding] * len(sizes), sharding, element, mesh)
        counts = count_of_collectives(program)
        assert set(counts) == {CollectiveKind.COLLECTIVE_PERMUTE}
        assert counts[CollectiveKind.COLLECTIVE_PERMUTE] <= permutes
        assert_same_on_shards(program, random_inputs(program))


def test_at_most_one_shard_is_sent() -> None:
    program = concatenation((64, 64), ['[{"x"}, {}]'] * 2, '[{"x"}, {}]')
    assert statistics_of(program.partition().local).bytes_sent == 32 * 6 * 4


@pytest.mark.parametrize(
    ("sizes", "shardings", "result_sharding"),
    [
        ((8, 8), ['[{"x"}, {}]', "[{}, {}]"], '[{"x"}, {}]'),
        ((8, 8), ['[{"x"}, {}]', '[{"y"}, {}]'], '[{"x", "y"}, {}]'),
        ((8, 8), ['[{"x"}, {}]', '[{}, {"y"}]'], '[{}, {"y"}]'),
        ((8, 6), ['[{"x"}, {}]', "[{}, {}]"], "[{}, {}]"),
        ((4,) * 12, ['[{"x"}, {}]'] * 12, '[{"x"}, {}]'),
    ],
)
def test_operands_and_result_with_different_shardings(
    sizes: tuple[int, ...], shardings: list[str], result_sharding: str
) -> None:
    program = concatenation(sizes, shardings, result_sharding)
    assert_same_on_shards(program, random_inputs(program))


@pytest.mark.parametrize(("shards", "shift", "sent"), [(8, 3, 3), (4, 3, 3), (4, 1, 1), (2, 5, 5)])
def test_a_roll_sends_each_row_once(shards: int, shift: int, sent: int) -> None:
    """The parts of a roll do not divide: each row moves to the next shard, and the last ones to the first shard."""
    program = rolled(shards, shift, '[{"x"}, {}]')
    assert statistics_of(program.partition().local).bytes_sent == sent * 6 * 4
    assert_same_on_shards(program, random_inputs(program))


def test_equal_rolls_are_computed_once() -> None:
    program = Program.from_text(f"""
sdy.mesh @m = <["x"=4]>
func.func public @main(%a: {ROWS} {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{}}]>}}) -> {ROWS} {{
  %0 = call @roll(%a) : ({ROWS}) -> {ROWS}
  %1 = call @roll(%a) : ({ROWS}) -> {ROWS}
  %2 = stablehlo.multiply %0, %1 : {ROWS}
  return %2 : {ROWS}
}}
func.func private @roll(%a: {ROWS}) -> {ROWS} {{{roll_of_rows(1)}}}""")
    assert statistics_of(program.partition().local).bytes_sent == 6 * 4
    assert_same_on_shards(program, random_inputs(program))


def test_a_roll_by_nothing_sends_nothing() -> None:
    program = rolled(8, 0, '[{"x"}, {}]')
    assert statistics_of(program.partition().local).bytes_sent == 0
    assert_same_on_shards(program, random_inputs(program))


ROWS = "tensor<32x6xf32>"


def rolled(shards: int, shift: int, sharding: str) -> Program:
    """Return a program that rolls 32 rows."""
    return Program.from_text(f"""
sdy.mesh @m = <["x"={shards}]>
func.func @main(%a: {ROWS} {{sdy.sharding = #sdy.sharding<@m, {sharding}>}}) -> {ROWS} {{{roll_of_rows(shift)}}}""")


def roll_of_rows(shift: int) -> str:
    """Return the body of a function that rolls its argument, as `jnp.roll` does it."""
    end, start = f"tensor<{shift}x6xf32>", f"tensor<{32 - shift}x6xf32>"
    return f"""
  %e = stablehlo.slice %a [{32 - shift}:32, 0:6] : ({ROWS}) -> {end}
  %s = stablehlo.slice %a [0:{32 - shift}, 0:6] : ({ROWS}) -> {start}
  %r = stablehlo.concatenate %e, %s, dim = 0 : ({end}, {start}) -> {ROWS}
  return %r : {ROWS}
"""
