"""Programs of libraries come through `from_jax`, compute what JAX computes, and send at most the bytes of XLA."""

from __future__ import annotations

import pytest
from support.library_programs.measure import Case, cases_of, measured, xla_bytes
from support.library_programs.program import missing_library, program_names

pytestmark = pytest.mark.corpus
SAME = 1.05  # the ratio of bytes up to which no explanation is needed
FEW_BYTES = 256  # a difference of so few bytes costs no time: a collective of a scalar or two

# The largest ratio of each program that sends more than XLA in some placement, and the reason.
LARGER: dict[str, tuple[float, str]] = {}

# Run by default, since they need no library: the bytes that XLA sends (jaxlib 0.10.2).
SAMPLE = {
    Case("plain_jax.sinkhorn", "2x2x2", "random 0"): 3_968,
    Case("plain_jax.k_means", "8", "data"): 840,
    Case("collectives.ring_attention", "4x2", "tensor"): 5_440,
    Case("collectives.constraints_on_another_mesh", "4x2", "tensor"): 6_922,
}


@pytest.mark.parametrize("case", SAMPLE, ids=str)
def test_sample(case: Case) -> None:
    (found,) = measured([case], SAMPLE)
    assert found.problems == ()
    assert found.ratio <= SAME


@pytest.mark.slow
@pytest.mark.parametrize("name", program_names())
def test_program_on_all_meshes_in_all_placements(name: str) -> None:
    library = missing_library(name)
    if library is not None:
        pytest.skip(f"{library} is not installed; pip install -e '.[corpus]'")
    largest, _ = LARGER.get(name, (SAME, ""))
    cases = cases_of(name)
    wrong = [
        str(found)
        for found in measured(cases, xla_bytes(cases))
        if found.problems or (found.xla is not None and found.ours > largest * found.xla + FEW_BYTES)
    ]
    assert wrong == []
