"""The canonical form of HLO shardings."""

from __future__ import annotations

import pytest

from sdy.grammar.errors import NotationError
from sdy.grammar.hlo_text import read_hlo_sharding, write_hlo_sharding


@pytest.mark.parametrize(
    ("given", "written"),
    [
        # Kinds of subgroups are ordered: manual, unreduced, replicated.
        (
            "{devices=[2,2,2]<=[8] last_tile_dims={replicated, unreduced}}",
            "{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={unreduced, replicated}}",
        ),
        (
            "{devices=[1,2,2,2]<=[8] last_tile_dims={unreduced, replicated, manual}}",
            "{devices=[1,2,2,2]<=[4,2]T(1,0) last_tile_dims={manual, unreduced, replicated}}",
        ),
        # Subgroups of one kind are merged, wherever they are.
        (
            "{devices=[1,2,2,2]<=[8] last_tile_dims={manual, unreduced, manual}}",
            "{devices=[1,4,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, unreduced}}",
        ),
        ("{devices=[1,2,4]<=[8] last_tile_dims={manual, manual}}", "{manual}"),
        # The order of copies has no meaning, and groups of one device are dropped.
        (
            "{devices=[2,2,2]0,3,1,2,5,4,7,6 last_tile_dims={manual, replicated}}",
            "{devices=[2,2,2]0,3,1,2,4,5,6,7 last_tile_dims={manual, replicated}}",
        ),
        ("{devices=[2,1,4]<=[8] last_tile_dims={manual, replicated}}", "{devices=[2,4]<=[8] last_tile_dim_replicate}"),
    ],
)
def test_subgroups_have_a_canonical_form(given: str, written: str) -> None:
    assert write_hlo_sharding(read_hlo_sharding(given)) == written


@pytest.mark.parametrize(
    ("named", "written"),
    [
        ("{mesh['x'=4,'y'=2], [{'x'}, {}]}", "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"),
        ("{mesh['x'=4,'y'=2], [{}, {'y'}]}", "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}"),
        ("{mesh['x'=4,'y'=2], [{'x','y'}]}", "{devices=[8]<=[8]}"),
        (
            "{mesh['x'=4,'y'=2], [{'y','x':(1)2}, {}], replicated={'x':(2)2}}",
            "{devices=[4,1,2]<=[4,2]T(1,0) last_tile_dim_replicate}",
        ),
        ("{mesh['x'=2], [{}], unreduced={'x'}}", "{unreduced}"),
    ],
)
def test_axes_may_be_named(named: str, written: str) -> None:
    assert write_hlo_sharding(read_hlo_sharding(named)) == written


@pytest.mark.parametrize(
    "text", ["{mesh['x'=4], [{'z'}]}", "{mesh['x'=4], [{'x'}, {'x'}]}", "{mesh['x'=0], [{}]}", "{mesh['x'=4], {}}"]
)
def test_named_axes_must_be_those_of_the_mesh(text: str) -> None:
    with pytest.raises(NotationError, match="expected an HLO sharding"):
        read_hlo_sharding(text)
