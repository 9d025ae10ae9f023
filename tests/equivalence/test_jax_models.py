"""The functions of the shared models: `from_jax` lowers them to their texts, `to_jax` computes the results of JAX."""

from __future__ import annotations

from typing import cast

import jax
import numpy as np
import pytest
from support.jax_programs.shared_models import MISSING, MODELS, STEMS, shared_model

import sdy

pytestmark = pytest.mark.skipif(not STEMS, reason=MISSING)


STORED_BY = "0.10."  # the version of JAX that wrote the stored texts


@pytest.mark.parametrize("name", STEMS)
def test_the_program_is_the_stored_text_or_computes_the_same(name: str) -> None:
    model = shared_model(name)
    program = sdy.from_jax(model.function, *model.abstract_arguments)
    if jax.__version__.startswith(STORED_BY):
        assert str(program) == (MODELS / f"{name}.mlir").read_text()
    returned = jax.tree.leaves(jax.eval_shape(model.function, *model.arguments))
    partitioned = jax.tree.leaves(program.partition().run(*model.arguments))
    assert [leaf.shape for leaf in partitioned] == [leaf.shape for leaf in returned]
    for ours, theirs in zip(partitioned, model.returned, strict=True):
        np.testing.assert_allclose(np.asarray(ours, np.float64), theirs.astype(np.float64), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", STEMS)
def test_the_local_program_on_jax_devices_returns_what_jax_returns(name: str) -> None:
    model = shared_model(name)
    on_devices = sdy.from_jax(model.function, *model.abstract_arguments).partition().to_jax()
    actual = cast(list[jax.Array], jax.tree.leaves(on_devices(*model.arguments)))
    for ours, theirs in zip(actual, model.returned, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(np.asarray(ours), theirs.astype(np.float64), rtol=1e-4, atol=1e-5)
