"""Lowers a JAX function to StableHLO text, and collects its pytrees, devices and source lines."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import jax
from jax.sharding import AbstractMesh, NamedSharding

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.interpreter.arrays.element_types import Array
from sdy.jax.to_stablehlo.device_mismatch import device_mismatch_error, named_leaves
from sdy.jax.to_stablehlo.pytrees import Leaf, TreeSignature

R = TypeVar("R")
_PACKAGE = Path(__file__).parents[2]
_FILE_LINE = re.compile(r'"([^"]+)":(\d+):\d+')  # in a printed MLIR location; the first match is the innermost call
_NAME = re.compile(r'loc\("(.*)"\)')


@dataclass(frozen=True)
class Lowered(Generic[R]):
    """The result of lowering a call of a function.

    `devices` are in the order of their numbers in the program. `op_sources` lists the Python line of each op in program
    order, or "" if it is unknown. `argument_names` are the names that JAX uses for the arguments (`params['w']`).
    `axis_types` are the axis types of the meshes of the arguments, by axis name. `callbacks` are the Python functions
    that the program calls, by number.
    """

    name: str
    text: str
    signature: TreeSignature[R]
    devices: tuple[object, ...]
    op_sources: tuple[str, ...]
    argument_names: tuple[str, ...]
    axis_types: Mapping[str, object]
    callbacks: tuple[Callable[..., Sequence[Array]], ...]


def lower(fn: Callable[..., R], args: tuple[object, ...], kwargs: Mapping[str, object]) -> Lowered[R]:
    """Lower a call of `fn`, which is jitted first if necessary.

    Raises: SdyError SDY-T211 if JAX rejects the arguments because they are on different devices, SDY-T215 if `fn` uses
    a mutable array that it did not create; any other error of JAX if it cannot trace the function.
    """
    jitted: Any = fn if hasattr(fn, "lower") else jax.jit(fn)
    lowered: jax.stages.Lowered
    meshes = _meshes((args, kwargs))
    try:
        if any(isinstance(mesh, AbstractMesh) for mesh in meshes):  # an abstract mesh has no platform to lower for
            lowered = jitted.trace(*args, **kwargs).lower(lowering_platforms=(jax.default_backend(),))
        else:
            lowered = jitted.lower(*args, **kwargs)
    except ValueError as error:
        mismatch = device_mismatch_error(fn, args, kwargs)
        if mismatch is None:
            raise
        raise mismatch from error
    lowering = _lowering(lowered)
    if lowering.compile_args["mut"] is not None:
        raise outside_ref_error(fn, args, kwargs)
    signature = TreeSignature[R](
        lowered.in_tree,
        lowered.out_tree,
        tuple(Leaf(info.shape, info.dtype) for info in jax.tree.leaves(lowered.args_info)),
        # `out_info` is not defined for results whose layout is constrained, and whose sharding is open
        tuple(Leaf(aval.shape, aval.dtype) for aval in lowering.compile_args["global_out_avals"]),
        frozenset(lowering.compile_args["kept_var_idx"]),
    )
    name = f"<{getattr(fn, '__name__', type(fn).__name__).strip('<>')}>"
    module: Any = lowered.compiler_ir("stablehlo")
    devices = tuple(lowering._device_list or ())  # empty for an abstract mesh
    op_sources = tuple(_op_sources(module.operation))
    types = {name: kind for mesh in meshes for name, kind in zip(mesh.axis_names, mesh.axis_types, strict=True)}
    callbacks = tuple(lowering.compile_args["host_callbacks"])
    names = _argument_names(module)
    return Lowered(name, lowered.as_text(), signature, devices, op_sources, names, types, callbacks)


def _meshes(arguments: object) -> list[Any]:
    """Return the meshes of the arguments, which may be abstract."""
    leaves: list[Any] = jax.tree.leaves(arguments)
    shardings = (getattr(leaf, "sharding", None) for leaf in leaves)
    return [each.mesh for each in shardings if isinstance(each, NamedSharding)]


def _lowering(lowered: jax.stages.Lowered) -> Any:
    """Return JAX's private lowering, the only source of the used arguments and the devices."""
    private: Any = lowered
    return private._lowering


def _op_sources(op: Any) -> Iterator[str]:
    """Return the Python line (`train.py:12`, `In[3]:4`) of each op nested in `op`, in program order."""
    for region in op.regions:
        for block in region:
            for inner in block:
                yield _innermost_call(str(inner.location))
                yield from _op_sources(inner.operation)


def _innermost_call(location: str) -> str:
    """Return the innermost call outside of this package; every location also contains the callers of `lower`."""
    calls = (match for match in _FILE_LINE.finditer(location) if _PACKAGE not in Path(match[1]).parents)
    innermost = next(calls, None)
    return f"{_file_name(innermost[1])}:{innermost[2]}" if innermost else ""


def _file_name(path: str) -> str:
    """Return the name of a Python file, or that of a cell of a notebook: `train.py`, `In[3]`."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    cell = None if shell is None else shell.compile.format_code_name(path)
    return Path(path).name if cell is None else cell[1]


def _argument_names(module: Any) -> tuple[str, ...]:
    """Return the names of the arguments, which JAX stores in the locations of the arguments of the main function."""
    (main,) = (op for op in module.body if op.attributes["sym_name"].value == "main")
    return tuple(_NAME.sub(r"\1", str(argument.location)) for argument in main.arguments)


_HINT = "pass ref[...], create the ref inside of the function with jax.new_ref, and return its new value"


def outside_ref_error(fn: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> SdyError:
    """Return SDY-T215 for the first argument that is a `jax.Ref`, or for one that `fn` closes over."""
    names = [name for name, leaf in named_leaves(fn, args, kwargs) if isinstance(leaf, jax.Ref)]
    which = f"argument {names[0]} is a jax.Ref" if names else "the function closes over a jax.Ref"
    message = f"{which}, whose changes a program cannot return: it is a function of arrays"
    return SdyError(Diagnostic("SDY-T215", message, hint=_HINT))
