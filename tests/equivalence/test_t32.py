"""The transformer of the PartIR paper in seven layouts: as many collectives as upstream, no more when optimized."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.jax_programs.shared_models import MISSING, MODELS
from support.slow_cases import slow_except

from sdy.cost.statistics import Statistics, statistics_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.interpreter.arrays.element_types import Array
from sdy.passes.export.reshards.insert_explicit_reshards import InsertExplicitReshardsPass
from sdy.passes.export.reshards.reshard_to_collectives import ReshardToCollectivesPass
from sdy.passes.run import run_passes
from sdy.passes.simplify.canonicalize import CanonicalizePass
from sdy.program.program import Program
from sdy.program.sources import load
from sdy.search.searched_module import without_shardings
from sdy.search.tactics import Replicate, Shard, replicate, shard
from sdy.upstream.pipelines import PropagationPipeline

pytestmark = pytest.mark.skipif(not MODELS.is_dir(), reason=MISSING)
KINDS = ("all_gather", "all_reduce", "reduce_scatter", "all_to_all")
LAYOUTS = ("bp", "mp", "bpmp", "z2", "z3", "z2_priorities", "z3_priorities")
KINDS_KEPT = ("mp",)  # in the others, reductions are shared, and gathered afterwards
VERIFIED = ("bp", "z2", "z3_priorities")
WEIGHTS = 19  # of two layers; followed by as many first and second moments, the tokens and the labels


def expected(layout: str, layers: int) -> tuple[int, int, int, int]:
    """Return the number of all-gathers, all-reduces, reduce-scatters and all-to-alls with upstream's passes."""
    if layout.endswith("priorities"):
        return 4 * layers + 2, 9 * layers + 1, 4 * layers + 1, 1
    return 0, {"bp": 9 * layers + 3, "mp": 4 * layers, "bpmp": 13 * layers + 3}[layout], 0, 0


def counted(path: Path) -> tuple[int, ...]:
    """Return the number of collectives of the program in a file."""
    return counted_in(path.read_text())


def counted_in(text: str) -> tuple[int, ...]:
    """Return the number of collectives of a program after propagation, explicit reshards and reshard-to-collectives."""
    module = parse_module(text)
    passes = [
        PropagationPipeline(),
        InsertExplicitReshardsPass(enable_full_version=True),
        CanonicalizePass(),
        ReshardToCollectivesPass(),
        CanonicalizePass(),
    ]
    run_passes(make_context(), module, passes, verify_each=False)
    found = Counter(re.findall(r"sdy\.(\w+)", print_module(module)))
    return tuple(found[kind] for kind in KINDS)


def statistics(path: Path, *, optimize: bool) -> Statistics:
    """Return the statistics of the local program."""
    return statistics_of((load(path) if optimize else load(path).without_optimizer()).partition().local)


def collective_counts(found: Statistics) -> dict[str, int]:
    """Return the number of collectives of each kind that a device runs."""
    return {kind.value: each.places for kind, each in found.collectives.items()}


def inputs_of(program: Program) -> list[Array]:
    """Return small weights, and second moments far from zero, because the step divides by their roots."""
    random = np.random.default_rng(0)

    def drawn(index: int, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
        if dtype.kind == "i":
            return random.integers(0, 512, shape).astype(dtype)
        values = 0.1 * random.standard_normal(shape)
        return (1 + values**2 if 2 * WEIGHTS <= index < 3 * WEIGHTS else values).astype(dtype)

    return [drawn(index, *each) for index, each in enumerate(program.input_types)]


@pytest.mark.parametrize("layout", [each for each in LAYOUTS if each not in ("z2", "z3")])
def test_collective_counts_equal_upstream(t32: Path, layout: str) -> None:
    assert counted(t32 / f"t2_{layout}.mlir") == expected(layout, 2)


def tactics_of(layout: str) -> Sequence[Sequence[Shard | Replicate]]:
    """Return the steps that lead to a layout; ZeRO shards optimizer states, and in stage 3 also the weights."""
    batch = [shard(name, dim=0, axis="b") for name in ("tokens", "labels")]
    megatron = [shard(f"p.*.{name}", dim=dim, axis="m") for name, dim in (("qkv", 2), ("o", 0), ("w1", 1), ("w2", 0))]
    zero = (("*.qkv", 0), ("*.o", 2), ("*.w1", 0), ("*.w2", 1), ("emb", 1))
    kept = [replicate("p", axis="b"), replicate("result[0]", axis="b")]
    last = {
        "z2_priorities": [*kept, *(shard(f"[mv].{name}", dim=dim, axis="b") for name, dim in zero)],
        "z3_priorities": [shard(f"[pmv].{name}", dim=dim, axis="b") for name, dim in zero],
    }
    return {"bp": [batch], "mp": [megatron]}.get(layout, [batch, megatron, *([last[layout]] if layout in last else [])])


def without_layout(path: Path) -> Program:
    """Return the program of a file without shardings, with the names of its arguments in JAX."""
    annotated = load(path)
    (mesh,) = meshes_of(annotated.module).values()
    program = Program.from_module(without_shardings(annotated.module, mesh))
    layer = ("b2", "ln1", "ln1b", "ln2", "ln2b", "o", "qkv", "w1", "w2")
    weights = ("['emb']", *(f"['l{number}']['{name}']" for number in range(2) for name in layer))
    names = (*(f"{tree}{weight}" for tree in "pmv" for weight in weights), "tokens", "labels")
    return replace(program, origin=replace(program.origin, argument_names=names))


# The last one has the steps of the others, and one more.
@pytest.mark.parametrize(
    "layout", slow_except(["z3_priorities"], [each for each in LAYOUTS if each not in ("z2", "z3")])
)
def test_tactics_lead_to_the_layouts(t32: Path, layout: str) -> None:
    steps = tactics_of(layout)
    applied = without_layout(t32 / "t2_bp.mlir").apply(*steps)
    assert counted_in(str(applied.program)) == expected(layout, 2)
    assert len(applied.steps) == len(steps) + 1
    annotated = statistics(t32 / f"t2_{layout}.mlir", optimize=True)
    assert applied.steps[-1].collectives == {kind: n for kind, n in collective_counts(annotated).items() if n}


@pytest.mark.parametrize("layout", slow_except([*VERIFIED, *KINDS_KEPT, "z2_priorities"], LAYOUTS))
def test_optimizer_adds_no_collectives(t32: Path, layout: str) -> None:
    plain, optimized = (statistics(t32 / f"t2_{layout}.mlir", optimize=optimize) for optimize in (False, True))
    before, after = collective_counts(plain), collective_counts(optimized)
    assert sum(after.values()) <= sum(before.values())
    if layout in KINDS_KEPT:
        assert all(count <= before[kind] for kind, count in after.items())
    assert optimized.bytes_sent <= 1.0001 * plain.bytes_sent  # sums in another order
    assert optimized.flops <= 1.05 * plain.flops
    assert optimized.peak_bytes <= 1.1 * plain.peak_bytes


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("layout", slow_except(VERIFIED, LAYOUTS))
def test_a_step_of_two_layers_computes_the_same(t32: Path, layout: str, optimize: bool) -> None:
    program = load(t32 / f"t2_{layout}.mlir") if optimize else load(t32 / f"t2_{layout}.mlir").without_optimizer()
    assert [each.problem for each in program.verify(*inputs_of(program)) if not each.agrees] == []


@pytest.mark.slow
def test_layouts_of_32_layers(tmp_path: Path) -> None:
    """Check that layouts without priorities have at most twice as many collectives as those with them."""
    subprocess.run([sys.executable, str(MODELS / "gen_t32.py"), str(tmp_path), "32"], check=True, capture_output=True)
    for layout in LAYOUTS:
        if layout in ("z2", "z3"):
            sent = collective_counts(statistics(tmp_path / f"t32_{layout}.mlir", optimize=True))
            assert sum(sent.values()) <= 2 * sum(expected(f"{layout}_priorities", 32)), sent
        else:
            assert counted(tmp_path / f"t32_{layout}.mlir") == expected(layout, 32), layout
