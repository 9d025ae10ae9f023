"""Lowers a JAX function: its StableHLO text with shardings, its trees, its devices, the lines it was written on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import jax
from jax.sharding import AbstractMesh, NamedSharding

from sdy.frontends.jax.device_sets import where_devices_differ
from sdy.frontends.jax.pytrees import Leaf, TreeSignature

R = TypeVar("R")
_PACKAGE = Path(__file__).parents[2]
_PLACE = re.compile(r'"([^"]+)":(\d+):\d+')  # in a location as MLIR prints it; the first is the innermost call
_NAME = re.compile(r'loc\("(.*)"\)')


@dataclass(frozen=True)
class Lowered(Generic[R]):
    """A call of a function, lowered.

    `devices` stand in the order of their numbers in the program. `places` has the Python line behind each op in program
    order, "" where it is unknown; `argument_names` what JAX calls the arguments of the program, `params['w']`.
    `axis_types` are those of the axes of the arguments' meshes.
    """

    name: str
    text: str
    signature: TreeSignature[R]
    devices: tuple[object, ...]
    places: tuple[str, ...]
    argument_names: tuple[str, ...]
    axis_types: Mapping[str, object]


def lower(fn: Callable[..., R], args: tuple[object, ...], kwargs: Mapping[str, object]) -> Lowered[R]:
    """Lower a call of `fn`, which is jitted where it is not yet.

    Raises: SdyError SDY-T211 where arguments lie on different devices and JAX will not have it; whatever JAX raises
    where it cannot trace the function.
    """
    jitted: Any = fn if hasattr(fn, "lower") else jax.jit(fn)
    lowered: jax.stages.Lowered
    meshes = _meshes((args, kwargs))
    try:
        if any(isinstance(mesh, AbstractMesh) for mesh in meshes):  # which does not tell for which devices to lower
            lowered = jitted.trace(*args, **kwargs).lower(lowering_platforms=(jax.default_backend(),))
        else:
            lowered = jitted.lower(*args, **kwargs)
    except ValueError as error:
        clearer = where_devices_differ(fn, args, kwargs)
        if clearer is None:
            raise
        raise clearer from error
    lowering = _lowering(lowered)
    signature = TreeSignature[R](
        lowered.in_tree,
        lowered.out_tree,
        tuple(Leaf(info.shape, info.dtype) for info in jax.tree.leaves(lowered.args_info)),
        tuple(Leaf(info.shape, info.dtype) for info in jax.tree.leaves(lowered.out_info)),
        frozenset(lowering.compile_args["kept_var_idx"]),
    )
    name = f"<{getattr(fn, '__name__', type(fn).__name__)}>"
    module: Any = lowered.compiler_ir("stablehlo")
    devices = tuple(lowering._device_list or ())  # none on an abstract mesh
    places = tuple(_places(module.operation))
    types = {name: kind for mesh in meshes for name, kind in zip(mesh.axis_names, mesh.axis_types, strict=True)}
    return Lowered(name, lowered.as_text(), signature, devices, places, _argument_names(module), types)


def _meshes(arguments: object) -> list[Any]:
    """The meshes that arguments lie on, which may have no devices yet."""
    leaves: list[Any] = jax.tree.leaves(arguments)
    shardings = (getattr(leaf, "sharding", None) for leaf in leaves)
    return [each.mesh for each in shardings if isinstance(each, NamedSharding)]


def _lowering(lowered: jax.stages.Lowered) -> Any:
    """What JAX knows of a lowering and tells nobody: which arguments are used, and on which devices it runs."""
    private: Any = lowered
    return private._lowering


def _places(op: Any) -> Iterator[str]:
    """`file.py:line` of each op inside of `op`, in program order."""
    for region in op.regions:
        for block in region:
            for inner in block:
                yield _place(str(inner.location))
                yield from _places(inner.operation)


def _place(location: str) -> str:
    """The innermost place outside of this package: what calls `lower` stands in every location."""
    calls = (match for match in _PLACE.finditer(location) if _PACKAGE not in Path(match[1]).parents)
    innermost = next(calls, None)
    return f"{Path(innermost[1]).name}:{innermost[2]}" if innermost else ""


def _argument_names(module: Any) -> tuple[str, ...]:
    """JAX leaves them in the locations of the arguments of the main function."""
    (main,) = (op for op in module.body if op.attributes["sym_name"].value == "main")
    return tuple(_NAME.sub(r"\1", str(argument.location)) for argument in main.arguments)
