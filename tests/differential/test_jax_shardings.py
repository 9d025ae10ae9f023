# The edge to JAX, whose functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
"""Compare the shardings of arguments and results with those that JAX infers when it compiles for eight devices.

A sample runs by default, and all functions with `pytest -m slow`.
"""

from __future__ import annotations

import random
from typing import Any

import jax
import pytest
from support.jax_programs.library_functions import LibraryCase, library_cases
from support.jax_programs.sharded_variants import VARIANTS
from support.oracle.known_differences import IS_NEWER

import sdy

CASES = library_cases()
KNOWN = {"approx_max_k": "on CPUs, XLA sorts instead; on TPUs, which have an op for it, Shardy's rule is ours"}
for function in ("jax.numpy.diag", "jax.numpy.diagonal"):
    KNOWN[function] = "their positions become batch dims, which are sharded"
if not IS_NEWER:
    KNOWN["jax.lax.erf"] = "before JAX 0.12, nothing propagates through erf"
SAMPLE = frozenset(random.Random(0).sample(sorted(CASES), 40)) | {"jax.numpy.square", "top_k", "layer_norm", "rms_norm"}


def leaves(tree: object) -> list[Any]:
    return jax.tree.leaves(tree)


def differences(case: LibraryCase, variant: str) -> list[str]:
    """Return the shardings that differ."""
    jitted, arguments = VARIANTS[variant](case)
    compiled = jitted.lower(*arguments).compile()
    program = sdy.from_jax(jitted, *arguments).propagate()
    used: list[object] = jax.tree.leaves(program.input_shardings(), is_leaf=lambda leaf: leaf is None)
    tensors = {
        "argument": (
            [each for each, at in zip(leaves(arguments), used, strict=True) if at],
            compiled.input_shardings[0],
            program.input_shardings(),
        ),
        "result": (leaves(jitted.eval_shape(*arguments)), compiled.output_shardings, program.output_shardings()),
    }
    return [
        f"{kind} {index} {tensor.shape}: JAX has {theirs}, we have {ours}"
        for kind, (described, expected, actual) in tensors.items()
        for index, (tensor, theirs, ours) in enumerate(zip(described, leaves(expected), leaves(actual), strict=True))
        if not theirs.is_equivalent_to(ours, len(tensor.shape))
    ]


def check(name: str) -> None:
    found = [text for variant in VARIANTS for text in differences(CASES[name], variant)]
    assert bool(found) == (name in KNOWN), found


@pytest.mark.parametrize("name", sorted(SAMPLE))
def test_shardings_are_those_of_jax(name: str) -> None:
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*CASES} - SAMPLE))
def test_shardings_of_other_functions_are_those_of_jax(name: str) -> None:
    check(name)


def test_at_least_150_functions_are_compared() -> None:
    assert len(CASES) >= 150
