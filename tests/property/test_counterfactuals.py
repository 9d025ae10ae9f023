"""The answers of `explain` and `why_not` are true: each is tried on random programs.

Sixty programs by default; `pytest -m slow` runs a thousand.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from support.random_programs.program import random_program
from xdsl.ir import SSAValue

import sdy
from sdy.advice.edits import Edit, without_axis
from sdy.advice.why_not import WhyNot
from sdy.diagnostics.diagnostic import SdyError
from sdy.model.axis import AxisRef, overlaps
from sdy.propagation.graph import Value
from sdy.report.explanation.explainer import Explainer

SEEDS = range(60)


def explainers(seeds: range) -> Iterator[tuple[sdy.Program, Explainer]]:
    """Yield the programs that can be propagated, with their explanations."""
    for seed in seeds:
        text = random_program(seed)
        try:
            program = sdy.Program.from_text(text, "random.mlir")
            yield program, explained(program)
        except SdyError:
            continue  # random annotations may contradict each other


def explained(program: sdy.Program) -> Explainer:
    return Explainer(program.module, program.origin)


def propagated_axes(explainer: Explainer) -> Iterator[tuple[Value, int, AxisRef]]:
    """Yield the holders of a propagation that received an axis from an annotation elsewhere, with its dim."""
    graph = explainer.traced.flat.graph
    for holder in graph.holders:
        sharding = graph.sharding(holder)
        for dim, own in enumerate(() if sharding is None else sharding.dims):
            for axis in own.axes:
                if explainer.traced.history.path(holder, axis).root is not holder:
                    yield holder, dim, axis


def check_blamed_annotation(program: sdy.Program, explainer: Explainer, rng: random.Random) -> bool:
    """Delete the annotation that a random axis comes from: the axis goes, or comes from another annotation."""
    found = list(propagated_axes(explainer))
    if not found:
        return False
    holder, dim, axis = rng.choice(found)
    annotation = explainer.values.annotation(explainer.traced.history.path(holder, axis).root)
    value = explainer.values.written(holder)
    if annotation is None or value is None:
        return False
    target, sharding = annotation
    edited, copies = Edit(target, without_axis(sharding, axis)).applied(program.module)
    after = explainer.of(edited)
    for each in after.values.holders(copies[value]):
        left = None if each is None else after.traced.flat.graph.sharding(each)
        for own in () if left is None else left.dims[dim].axes:
            assert each is not None
            if overlaps(own, axis):
                blamed = after.values.annotation(after.traced.history.path(each, own).root)
                same = copies[target] if isinstance(target, SSAValue) else target
                assert blamed is None or blamed[0] is not same, "the axis still comes from the deleted annotation"
    return True


def check_suggestion(program: sdy.Program, explainer: Explainer, rng: random.Random) -> bool:
    """Apply the edit that `why_not` suggests for a random value, dim and axis: the dim is sharded along the axis."""
    module, names = program.module, explainer.names
    values = [value for op in module.walk() for value in op.results if any(explainer.values.holders(value))]
    axes = [axis.name for mesh in explainer.traced.flat.graph.meshes.values() for axis in mesh.axes]
    if not values or not axes:
        return False
    value, axis = rng.choice(values), rng.choice(axes)
    holder = next(each for each in explainer.values.holders(value) if each is not None)
    if not holder.rank:
        return False
    dim = rng.randrange(holder.rank)
    suggestion = WhyNot(explainer).reasons(value, dim, axis).suggestion
    if suggestion is None:
        return False
    edited, copies = suggestion.edit.applied(module)
    after = explainer.of(edited)
    for each in after.values.holders(copies[value]):
        assert each is not None
        sharding = after.traced.flat.graph.sharding(each)
        assert sharding is not None, names[value]
        assert any(overlaps(own, AxisRef(axis)) for own in sharding.dims[dim].axes), names[value]
    return True


@pytest.mark.parametrize("seeds", [SEEDS, pytest.param(range(1000), marks=pytest.mark.slow)], ids=["few", "many"])
def test_the_suggested_edit_brings_the_axis(seeds: range) -> None:
    rng = random.Random(len(seeds))
    tried = sum(check_suggestion(program, explainer, rng) for program, explainer in explainers(seeds))
    assert tried > len(seeds) / 4


@pytest.mark.parametrize("seeds", [SEEDS, pytest.param(range(1000), marks=pytest.mark.slow)], ids=["few", "many"])
def test_without_the_annotation_that_is_blamed_the_axis_is_gone(seeds: range) -> None:
    rng = random.Random(len(seeds))
    tried = sum(check_blamed_annotation(program, explainer, rng) for program, explainer in explainers(seeds))
    assert tried > len(seeds) / 4
