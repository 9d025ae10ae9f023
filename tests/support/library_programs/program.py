"""A program of the corpus, and the table of all programs, which is read without importing the libraries."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
# Module of this folder -> the libraries whose code it runs.
LIBRARIES: dict[str, tuple[str, ...]] = {
    "plain_jax": (),
    "collectives": (),
    "flax_linen": ("flax", "optax"),
    "flax_nnx": ("flax", "optax"),
    "equinox_models": ("equinox", "optax"),
    "haiku_models": ("haiku", "optax"),
    "keras_models": ("keras",),
    "optimizers": ("optax",),
    "graph_nets": ("jraph", "haiku"),
    "differential_equations": ("diffrax", "equinox"),
    "solvers": ("optimistix", "lineax", "jaxopt"),
    "optimal_transport": ("ott",),
    "probabilistic": ("numpyro",),
    "sampling": ("blackjax",),
    "distributions": ("distrax",),
    "simulation": ("jax_md",),
    "robots": ("brax",),
    "gaussian_processes": ("tinygp",),
}


@dataclass(frozen=True)
class LibraryProgram:
    """A function of `state` (parameters, optimizer state, caches) and `data`.

    Leaves of `data` have the batch in dim 0, and the sequence, if there is one, in dim 1. Leaves of `state` with an
    expert dim have it in dim 0.
    """

    function: Callable[[Any, Any], Any]
    state: Any
    data: Any
    has_experts: bool = False


@cache
def program_names() -> tuple[str, ...]:
    """Return the names of all programs (`flax_linen.mlp`): the public functions that return a `LibraryProgram`."""
    return tuple(
        f"{module}.{node.name}"
        for module in LIBRARIES
        if (FOLDER / f"{module}.py").exists()
        for node in ast.parse((FOLDER / f"{module}.py").read_text()).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and isinstance(node.returns, ast.Name)
        and node.returns.id == LibraryProgram.__name__
    )


def missing_library(name: str) -> str | None:
    """Return the first library that the program `name` needs and that is not installed."""
    return next((library for library in LIBRARIES[name.partition(".")[0]] if find_spec(library) is None), None)


def build(name: str) -> LibraryProgram:
    """Return a program. Raises: ImportError if one of its libraries cannot be imported."""
    module, _, function = name.partition(".")
    return getattr(import_module(f"{__package__}.{module}"), function)()
