"""The canonical form of HLO shardings."""

from __future__ import annotations

import pytest

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
