"""What the planner and the optimizer price is what the local program sends, byte for byte."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_programs.products import products_program
from support.reshards.random_reshards import MIXED, random_reshards, reshard_program
from xdsl.dialects.builtin import ModuleOp

from sdy.compile.options import CompileOptions
from sdy.cost.traffic import traffic_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import make_context, parse_module
from sdy.model.mesh_digits import NumberedDigits
from sdy.partitioner.layout_search.search import search
from sdy.partitioner.layout_search.state import MemoryBudget, SearchState
from sdy.partitioner.layout_search.transfer import Patterns
from sdy.partitioner.reshard.plan import plan
from sdy.partitioner.reshard.steps import elements_received
from sdy.passes.export.optimize.communication_graph import GraphReader
from sdy.passes.export.optimize.optimize_communication import OptimizeCommunicationPass
from sdy.passes.export.optimize.write_layouts import Writer
from sdy.passes.export.reshards.plan_reshards import PlanReshardsPass
from sdy.passes.manager.partition_pipelines import LocalPipeline, partitioning
from sdy.passes.run import run_passes

F32_BYTES = 4
TO_LOCAL = LocalPipeline(optimize_communication=False)


def _sent(local: ModuleOp) -> float:
    return sum(each.times * each.bytes_per_run for each in traffic_of(local))


def _priced_and_sent(text: str, *, searches: bool) -> tuple[float, float]:
    """Return the bytes that the layout search counts for a program, and those that its local program sends."""
    module, context, passes = parse_module(text, "test.mlir"), make_context(), partitioning()
    optimizer = next(index for index, each in enumerate(passes) if isinstance(each, OptimizeCommunicationPass))
    run_passes(context, module, (*CompileOptions().propagates(), *passes[:optimizer]), verify_each=False)
    ((name, mesh),) = meshes_of(module).items()
    read = GraphReader(module, NumberedDigits.of(mesh)).read()
    state = SearchState(read.graph, read.digits, Patterns(), MemoryBudget(1e12, 0.0))
    if searches:
        search(state)
    Writer(read, state, name).write()
    run_passes(context, module, (*passes[optimizer + 1 :], TO_LOCAL), verify_each=False)
    return state.sent(range(len(read.graph.values))).bytes, _sent(module)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1_000_000), searches=st.booleans())
def test_the_search_counts_the_bytes_of_products_sums_and_loops(seed: int, *, searches: bool) -> None:
    priced, sent = _priced_and_sent(products_program(seed), searches=searches)
    assert sent == pytest.approx(priced)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1_000_000), unreduced=st.booleans())
def test_a_plan_counts_the_bytes_of_a_reshard(seed: int, *, unreduced: bool) -> None:
    rng = random.Random(seed)
    reshards = random_reshards(rng, 4, rng.choice(MIXED), unreduced=unreduced)
    plans = [plan(each.source, each.target, each.shape, each.mesh) for each in reshards]
    priced = sum(elements_received(steps, each.mesh) for steps, each in zip(plans, reshards, strict=True))
    local = parse_module(reshard_program(reshards, ["f32"] * len(reshards)), "test.mlir")
    run_passes(make_context(), local, (PlanReshardsPass(), TO_LOCAL), verify_each=False)
    assert _sent(local) == pytest.approx(priced * F32_BYTES)
