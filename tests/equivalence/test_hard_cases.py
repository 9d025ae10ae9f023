"""Small functions that partitioners tend to gather: the collectives of the local program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sdy.cost.statistics import statistics_of
from sdy.evidence.runs.arrays import load_arrays
from sdy.program.load import load

GENERATOR = Path(__file__).parents[3] / "shared" / "models" / "hard_cases.py"
# The collectives of each function, and the bytes that a device sends at most.
MOST: dict[str, tuple[dict[str, int], int]] = {
    "argmax": ({"all-gather": 1}, 192),
    "concatenate": ({"collective-permute": 2}, 1024),
    "convolution_spatial": ({"collective-permute": 2}, 2048),
    "cumsum": ({"all-gather": 1}, 96),
    "difference_of_neighbours": ({"all-gather": 1}, 1536),
    "fft": ({"all-to-all": 2}, 6144),
    "matmul_to_rows": ({"reduce-scatter": 1}, 6144),
    # Fused into one, they would need more memory: the caller holds the arguments.
    "matmul_transposed": ({"all-to-all": 1, "collective-permute": 1}, 1536),
    "reshard_three_dims": ({"all-to-all": 1}, 1792),
    "scan_over_layers": ({"all-gather": 1}, 1024),
    "set_static_slice": ({}, 0),
    "strided_slice": ({}, 0),
    "table_lookup": ({"all-reduce": 1}, 768),
    "top_k": ({"all-gather": 1}, 384),
}
# JAX 0.12 writes abs of complex numbers as 30 ops, and the optimizer moves a reshard over shorter chains only.
IF_ABS_IS_EXPANDED = ({"all-to-all": 2}, 9216)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("jax")
    if not GENERATOR.exists():
        pytest.skip("the generator of the functions is not beside the repository")
    made = tmp_path_factory.mktemp("hard_cases")
    subprocess.run([sys.executable, str(GENERATOR), str(made)], check=True, capture_output=True)
    return made


@pytest.mark.parametrize("name", MOST)
def test_few_bytes_are_sent_and_the_result_is_correct(name: str, folder: Path) -> None:
    program, stored = load(folder / f"{name}.mlir"), load_arrays(str(folder / f"{name}.npz"))
    assert [each.problem for each in program.verify(*stored.inputs, expected=stored.outputs) if not each.agrees] == []
    found = statistics_of(program.partition().local)
    is_expanded = name == "fft" and "stablehlo.maximum" in str(program)
    kinds, most = IF_ABS_IS_EXPANDED if is_expanded else MOST[name]
    assert {kind.value: each.places for kind, each in found.collectives.items()} == kinds
    assert found.bytes_sent <= most
    plain = statistics_of(program.without_optimizer().partition().local)
    assert found.flops <= 1.05 * plain.flops
    assert found.peak_bytes <= 1.1 * plain.peak_bytes


@pytest.mark.parametrize("name", MOST)
def test_reduced_verification_accepts_it(name: str, folder: Path) -> None:
    outputs = load(folder / f"{name}.mlir").verify(reduced=True)
    assert [each.problem for each in outputs if not each.agrees] == []


@pytest.mark.parametrize("name", MOST)
def test_the_proof_is_complete_or_nearly_so(name: str, folder: Path) -> None:
    assert load(folder / f"{name}.mlir").prove().share >= 0.95
