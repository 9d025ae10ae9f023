"""Programs of libraries come through `from_jax`, compute what JAX computes, and send at most the bytes of XLA."""

from __future__ import annotations

import pytest
from support.library_programs.measure import Case, Measurement, Work, cases_of, measured, xla_work
from support.library_programs.program import missing_library, program_names

pytestmark = pytest.mark.corpus
SAME = 1.05  # the ratio of bytes up to which no explanation is needed
FEW_BYTES = 256  # a difference of so few bytes costs no time: a collective of a scalar or two

# The largest ratio of bytes to XLA's of the programs that send more in some placement, by the reason. Where XLA
# computes products on several devices, to send less, no other reason is needed: our optimizer never adds FLOPs.
# A result whose sharding only the second mesh of the program can express: XLA leaves it so, and we gather it.
OTHER_MESH = {"collectives.constraints_on_another_mesh": 3.2, "collectives.pipeline": 1.4}
# XLA moves products of values that a loop does not change out of the loop.
INVARIANT_PRODUCTS = {"optimal_transport.gradient_of_divergence": 2.0}
LARGER = OTHER_MESH | INVARIANT_PRODUCTS

# Run by default, since they need no library: the bytes that XLA sends (jaxlib 0.10.2).
SAMPLE = {
    Case("plain_jax.dynamic_time_warping", "8", "sequence"): 16_640,
    Case("plain_jax.sinkhorn", "2x2x2", "random 0"): 3_968,
    Case("plain_jax.k_means", "8", "data"): 840,
    Case("collectives.ring_attention", "4x2", "tensor"): 5_440,
    Case("collectives.constraints_on_another_mesh", "4x2", "tensor"): 6_922,
}


@pytest.mark.parametrize("case", SAMPLE, ids=str)
def test_sample(case: Case) -> None:
    (found,) = measured([case], {case: Work(SAMPLE[case], 0)})
    assert found.problems == ()
    assert found.ratio <= SAME


@pytest.mark.slow
@pytest.mark.parametrize("name", program_names())
def test_program_on_all_meshes_in_all_placements(name: str) -> None:
    library = missing_library(name)
    if library is not None:
        pytest.skip(f"{library} is not installed; pip install -e '.[corpus]'")
    cases = cases_of(name)
    found = list(measured(cases, xla_work(cases)))
    assert [str(each) for each in found if each.problems or sends_more(each, LARGER.get(name, SAME))] == []


def sends_more(found: Measurement, largest: float) -> bool:
    """Return whether a device sends more than `largest` times the bytes of XLA, which repeats no products for that."""
    if found.xla is None or found.xla_repeats_products:
        return False
    return found.ours.bytes_sent > largest * found.xla.bytes_sent + FEW_BYTES
