"""`top_k` along a sharded dim: the k largest elements of each shard are gathered, and k of them are selected."""

from __future__ import annotations

import numpy as np
import pytest
from support.execution.on_shards import assert_same_on_shards, count_of_collectives

from sdy.cost.collectives import CollectiveKind
from sdy.cost.statistics import statistics_of
from sdy.dialects.chlo.structured import TopKOp
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.program.program import Program

MESHES = ('<["x"=4, "y"=2]>', '<["x"=4, "y"=2], device_ids=[6, 1, 0, 3, 2, 7, 4, 5]>')
ONE_GATHER = {CollectiveKind.ALL_GATHER: 1}


def top_k(
    sizes: tuple[int, ...],
    k: int,
    dim_shardings: str,
    element: str = "f32",
    mesh: str = MESHES[0],
    *,
    result_sharding: str = "",
    with_indices: bool = True,
) -> Program:
    """Return a program that computes the k largest elements along the last dim and their indices."""
    sizes_text, result_text = ("".join(f"{size}x" for size in each) for each in (sizes, (*sizes[:-1], k)))
    types = [f"tensor<{result_text}{element}>", f"tensor<{result_text}i32>"]
    count = 1 + with_indices
    attribute = f"{{sdy.sharding = #sdy.sharding<@m, {result_sharding}>}}" if result_sharding else ""
    return Program.from_text(f"""
sdy.mesh @m = {mesh}
func.func @main(%a: tensor<{sizes_text}{element}> {{sdy.sharding = #sdy.sharding<@m, {dim_shardings}>}})
    -> ({", ".join(f"{each} {attribute}" for each in types[:count])}) {{
  %0, %1 = chlo.top_k(%a, k = {k}) : tensor<{sizes_text}{element}> -> ({", ".join(types)})
  return {", ".join(["%0", "%1"][:count])} : {", ".join(types[:count])}
}}""")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("sizes", "k", "dim_shardings", "element"),
    [
        ((8, 64), 4, '[{}, {"x"}]', "f32"),
        ((64,), 8, '[{"x"}]', "f32"),
        ((4, 3, 80), 1, '[{"y"}, {}, {"x"}]', "bf16"),
        ((2, 64), 3, '[{}, {"y", "x"}]', "i32"),
    ],
)
def test_top_k(sizes: tuple[int, ...], k: int, dim_shardings: str, element: str, seed: int) -> None:
    result_sharding = '[{"y"}, {}, {}]' if dim_shardings.startswith('[{"y"}, ') else ""
    program = top_k(sizes, k, dim_shardings, element, MESHES[seed % 2], result_sharding=result_sharding)
    generator = np.random.default_rng(seed)
    dtype = program.input_types[0][1]
    special = (1, 2, 3, -4) if element == "i32" else (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan)
    values = generator.choice(np.array(special[: generator.integers(2, 8)]), sizes).astype(dtype)
    assert count_of_collectives(program) == ONE_GATHER
    assert_same_on_shards(program, [values])


def test_unused_indices_are_not_sent() -> None:
    program = top_k((8, 64), 4, '[{}, {"x"}]')
    values_only = top_k((8, 64), 4, '[{}, {"x"}]', with_indices=False)
    sent = [statistics_of(each.partition().local).bytes_sent for each in (program, values_only)]
    assert sent == [2 * 4 * 3 * 32, 4 * 3 * 32]
    assert_same_on_shards(values_only, [np.random.default_rng(1).standard_normal((8, 64)).astype(np.float32)])


def test_large_k_gathers_the_operand() -> None:
    program = top_k((2, 16), 3, '[{}, {"x"}]')
    assert statistics_of(program.partition().local).bytes_sent == 2 * 12 * 4
    assert_same_on_shards(program, [np.random.default_rng(1).standard_normal((2, 16)).astype(np.float32)])


@pytest.mark.parametrize("optimize", [True, False])
def test_sharded_rows_need_no_communication(*, optimize: bool) -> None:
    program = top_k((8, 16), 3, '[{"x"}, {}]') if optimize else top_k((8, 16), 3, '[{"x"}, {}]').without_optimizer()
    (op,) = [op for op in program.partition().local.walk() if isinstance(op, TopKOp)]
    assert shape_of(op.operand) == (2, 16)
    assert_same_on_shards(program, [np.random.default_rng(1).standard_normal((8, 16)).astype(np.float32)])
