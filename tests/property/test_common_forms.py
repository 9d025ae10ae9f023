"""The readers of common forms return what the grammar does, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdy.grammar import any_form, common_forms
from sdy.grammar.common_forms import no_aliases
from sdy.model.axis import AxisRef, SubAxis
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import DimSharding, ReductionKind, TensorSharding

T = TypeVar("T")

names = st.sampled_from(["x", "y", "data", "tp.2", "_model"])
sizes = st.integers(1, 10**9 - 1)
refs = st.builds(AxisRef, names, st.none() | st.builds(SubAxis, sizes, sizes))
axes = st.lists(refs, max_size=3).map(tuple)
dims = st.lists(st.builds(DimSharding, axes, st.booleans(), st.none() | st.integers(0, 10)), max_size=3).map(tuple)
kinds = st.just(ReductionKind.SUM)
shardings = st.builds(TensorSharding, names.filter(str.isidentifier), dims, axes, axes, kinds)
mesh_axes = st.lists(st.builds(MeshAxis, names, sizes), min_size=1, unique_by=lambda axis: axis.name)
meshes = st.builds(Mesh, mesh_axes.map(tuple))


@given(meshes)
def test_printed_meshes_are_common(mesh: Mesh) -> None:
    assert common_forms.mesh(str(mesh)) == mesh


@given(shardings)
def test_printed_shardings_are_common(sharding: TensorSharding) -> None:
    assert common_forms.tensor_sharding(str(sharding)) == sharding


@given(st.lists(shardings, max_size=3).map(tuple))
def test_printed_lists_of_shardings_are_common(values: tuple[TensorSharding, ...]) -> None:
    assert common_forms.sharding_per_value(f"<[{', '.join(map(str, values))}]>") == values


TEXTS = {
    "mesh": '<["x"=2, "y"=4]>',
    "tensor_sharding": '<@m, [{"x"}, {"y":(1)2, ?}p1, {}, {?}p0], replicated={"z"}, unreduced={"w", "v"}>',
    "sharding_per_value": '<[<@m, [{"x"}]>, <@m, [{?}], unreduced={"w"}>]>',
}
READERS: dict[str, Callable[[str], object]] = {
    "mesh": common_forms.mesh,
    "tensor_sharding": common_forms.tensor_sharding,
    "sharding_per_value": common_forms.sharding_per_value,
}
INSERTED = ["", "", "0", "1", "x", '"', ", ", "{", "}", "?", " "]
OTHERS = {
    "mesh": ['<["x"=2,"y"=4]>', '<["x"=0]>', '<["x"=02]>', '<["x"=2, "x"=2]>', "<[]>", '<["x"=0x2]>', '<["a b"=2]>'],
    "tensor_sharding": ['<@m, [{"x" }]>', "<@m, []", '<@m, [{}], unreduced=max{"x"}>', "<@m, [{}p01]>", '<@"m", [{}]>'],
    "sharding_per_value": ["<[<@m, [{}]> ]>", "<[#alias]>"],
}


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in OTHERS.items() for text in texts])
def test_other_forms_are_left_to_the_grammar(rule: str, text: str) -> None:
    assert READERS[rule](text) is None


@pytest.mark.parametrize("rule", TEXTS)
def test_mutated_texts_have_the_value_that_the_grammar_gives(rule: str) -> None:
    random = Random(rule)
    common = 0
    for _ in range(1500):
        text = TEXTS[rule]
        for _ in range(random.randint(1, 2)):
            place = random.randrange(len(text))
            removed = random.randint(0, 2)
            text = text[:place] + random.choice(INSERTED) + text[place + removed :]
        found = READERS[rule](text)
        if found is not None and text != TEXTS[rule]:
            assert found == any_form.read(rule, text, no_aliases)
            common += 1
    assert common >= 20
