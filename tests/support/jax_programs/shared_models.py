"""The JAX functions of the shared models, if those are in a directory beside the repository."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TypeGuard, cast

import jax
import numpy as np
from jax.sharding import NamedSharding

from sdy.evidence.runs.arrays import load_arrays
from sdy.interpreter.arrays.element_types import Array

MODELS = Path(__file__).parents[4] / "shared" / "models"
STEMS = sorted(path.stem for path in MODELS.glob("*.mlir"))
MISSING = "the shared models are not beside the repository"


@dataclass(frozen=True)
class SharedModel:
    """A jitted function, the arguments it is lowered for, input arrays and the expected results."""

    function: Callable[..., object]
    abstract_arguments: tuple[object, ...]
    arguments: tuple[object, ...]
    returned: Sequence[Array]


@cache
def _factories() -> Mapping[str, Callable[[], Sequence[object]]]:
    spec = spec_from_file_location("shared_models_source", MODELS / "models.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast(Mapping[str, Callable[[], Sequence[object]]], module.__dict__["MODELS"])


def shared_model(name: str) -> SharedModel:
    """Return the model called `name`, with the arrays stored beside its text."""
    model, stored = _factories()[name](), load_arrays(str(MODELS / f"{name}.npz"))
    function = cast(Callable[..., object], model[0])
    jitted = jax.jit(function, out_shardings=model[2]) if len(model) > 2 and model[2] is not None else jax.jit(function)

    def abstract(leaf: tuple[object, NamedSharding]) -> object:
        value = np.asarray(cast(Array, leaf[0]))
        return jax.ShapeDtypeStruct(value.shape, value.dtype, sharding=leaf[1])

    arguments = cast(tuple[object, ...], jax.tree.map(abstract, model[1], is_leaf=_is_leaf))
    leaves = iter(stored.inputs)

    def array_for(_: object) -> Array:
        return next(leaves)

    arrays = cast(tuple[object, ...], jax.tree.map(array_for, arguments))
    return SharedModel(cast(Callable[..., object], jitted), arguments, arrays, stored.outputs)


def _is_leaf(node: object) -> TypeGuard[tuple[object, NamedSharding]]:
    if not isinstance(node, tuple):
        return False
    entries = cast(tuple[object, ...], node)
    return len(entries) == 2 and isinstance(entries[1], NamedSharding)
