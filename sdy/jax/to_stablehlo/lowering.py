"""Lowers a JAX function to StableHLO text, and collects its pytrees, devices and source lines.

A call of a function of `jax.experimental.custom_partitioning` is found by its key. On shards, it runs what its
partition function returns for an array of that size that is not sharded: collectives inside of the partition function
are left out, since the sharding rule says what is reduced.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import jax
import jax.export
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, jaxpr_as_fun
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.user_code import wrong_type
from sdy.dialects.text.source_lines import line_of_user, scope_of_name
from sdy.interpreter.arrays.element_types import Array, DType
from sdy.interpreter.host import kernel_key
from sdy.jax.to_stablehlo.pytrees import Leaf, TreeSignature

_PRIMITIVE = "custom_partitioning"


def custom_partitions(lowering: Any, params: Mapping[str, object]) -> dict[str, Callable[..., Sequence[Array]]]:
    """Return the functions of a lowering, which JAX keeps alive, and whose calls are in the parameters of a trace."""
    calls = [equation.params for equation in equations_in(params) if equation.primitive.name == _PRIMITIVE]
    kept = (each for each in lowering.compile_args["keepalive"] or () if hasattr(each, "infer_sharding_from_operands"))
    return {str(id(each)): _CustomPartition(each, calls) for each in kept}


def pallas_kernels(params: Mapping[str, object]) -> dict[str, Callable[..., Sequence[Array]]]:
    """Return functions that run the kernels of Pallas in a traced call in interpret mode, by their keys.

    Kernels of one name and equal types that differ otherwise are left out: a call does not say which of them it is.
    """
    found: dict[str, JaxprEqn | None] = {}
    for equation in equations_in(params):
        if equation.primitive.name == "pallas_call":
            name: Any = equation.params["jaxpr"].debug_info.func_name
            key = kernel_key(name, _kinds(equation.invars), _kinds(equation.outvars))
            other = found.setdefault(key, equation)
            found[key] = None if other is None or str(other.params) != str(equation.params) else equation
    return {
        key: jax.jit(partial(each.primitive.bind, **{**each.params, "interpret": True}))
        for key, each in found.items()
        if each is not None
    }


def _kinds(values: Iterable[Any]) -> list[tuple[DType, tuple[int, ...]]]:
    return [(each.aval.dtype, each.aval.shape) for each in values]


def equations_in(params: Mapping[str, object]) -> Iterator[JaxprEqn]:
    """Yield the equations in the parameters of a primitive or of a traced call, with those of nested functions."""
    for leaf in cast(list[object], jax.tree.leaves(dict(params))):
        if isinstance(leaf, ClosedJaxpr | Jaxpr):
            for equation in leaf.eqns:
                yield equation
                yield from equations_in(equation.params)


@dataclass(frozen=True, slots=True)
class _CustomPartition:
    """One call. `info` is what JAX stores about it, `calls` are the parameters of all calls of the program."""

    info: Any
    calls: Sequence[Mapping[str, Any]]

    def __call__(self, *arrays: Array, results: Sequence[tuple[tuple[int, ...], DType]]) -> Sequence[Array]:
        """Return the results for global arrays by the function itself, for shards by its partition function."""
        kinds = [(each.shape, each.dtype) for each in arrays]
        for call in self.calls:
            own = [(each.shape, each.dtype) for each in call["call"].in_avals]
            if call["partition"] is self.info.partition and own == kinds:
                return tuple(map(np.asarray, cast(list[Array], jaxpr_as_fun(call["call"])(*arrays))))
        return tuple(map(np.asarray, cast(list[Array], jax.tree.leaves(self._on_shards(arrays, results)))))

    def _on_shards(self, arrays: Sequence[Array], results: Sequence[tuple[tuple[int, ...], DType]]) -> object:
        info = self.info
        whole = NamedSharding(info.mesh, PartitionSpec())
        kinds = [(each.shape, each.dtype) for each in arrays]
        operands, expected = (
            [jax.ShapeDtypeStruct(*kind, sharding=whole) for kind in each] for each in (kinds, results)
        )
        trees = info.in_tree.unflatten(operands), info.out_tree.unflatten(expected)
        _, function, _, _ = info.partition(*info.static_args, info.mesh, *trees)
        return cast(object, jax.jit(function)(*info.in_tree.unflatten(arrays)))


_DEVICES_HINT = (
    "put both on one mesh with jax.device_put(array, NamedSharding(mesh, spec)); uncommitted arrays follow the others"
)

R = TypeVar("R")
AnyMesh = jax.sharding.Mesh | AbstractMesh
_ABSTRACT_GPU = 'jax.sharding.AbstractDevice("NVIDIA H100", None, "gpu")'
PLATFORMS = ("cpu", "tpu", "cuda", "rocm")
_PACKAGE = Path(__file__).parents[2]
_FILE_LINE = re.compile(r'"([^"]+)":(\d+):\d+')  # in a printed MLIR location; the first match is the innermost call
_NAMED = re.compile(r'loc\("([^"]*)"\(')
_NAME = re.compile(r'loc\("(.*)"\)')


@dataclass(frozen=True)
class Lowered(Generic[R]):
    """The result of lowering a call of a function.

    `devices` are in the order of their numbers in the program. `op_sources` lists the Python line of each op in program
    order, or "" if it is unknown, and its scope (`blocks.0/mlp`). `argument_names` are the names that JAX uses for the
    arguments (`params['w']`). `axis_types` are the axis types of the meshes of the arguments, by axis name. `callbacks`
    are the Python functions that the program calls, by number, or by key for those of `custom_partitioning`.
    """

    name: str
    text: str
    signature: TreeSignature[R]
    devices: tuple[object, ...]
    op_sources: tuple[tuple[str, str], ...]
    argument_names: tuple[str, ...]
    axis_types: Mapping[str, object]
    callbacks: Mapping[str, Callable[..., Sequence[Array]]]


def lower(
    fn: Callable[..., R], args: tuple[object, ...], kwargs: Mapping[str, object], platform: str | None = None
) -> Lowered[R]:
    """Lower a call of `fn`, which is jitted first if necessary, for a platform (`tpu`), by default that of JAX.

    Raises: SdyError SDY-T211 if JAX rejects the arguments because they are on different devices, SDY-T215 if `fn` uses
    a mutable array that it did not create, SDY-T216 if it cannot be lowered for the platform or for an abstract mesh,
    SDY-T217 if no platform has this name, SDY-T222 if an option of `jax.jit` is among the arguments; any other error of
    JAX if it cannot trace the function.
    """
    if platform is not None and platform not in PLATFORMS:
        hint = f"use one of {', '.join(PLATFORMS)}"
        raise SdyError(Diagnostic("SDY-T217", f"JAX cannot lower for the platform {platform!r}", hint=hint))
    if isinstance(fn, jax.stages.Traced | jax.stages.Compiled):  # both are callable, but without their shardings
        raise wrong_type(fn, "a function", "sdy.from_jax: fn", "pass the function, and then the arguments of a call")
    jitted: Any = fn if hasattr(fn, "trace") else jax.jit(fn)
    name = getattr(fn, "__name__", type(fn).__name__).strip("<>")
    require_arguments(fn, name, kwargs)
    lowered: jax.stages.Lowered
    meshes: list[AnyMesh] = []
    try:
        traced, meshes = traced_with_meshes(jitted.trace, args, kwargs)
        # Without the name of a platform, JAX lowers only for devices that exist.
        lowered = traced.lower(lowering_platforms=(platform or jax.export.default_export_platform(),))
    except (ValueError, NotImplementedError, RuntimeError) as error:
        problem = device_mismatch_error(fn, args, kwargs) or unsupported_error(name, str(error), meshes)
        if problem is None:
            raise
        raise problem from error
    private: Any = lowered
    lowering = private._lowering  # the only source of the used arguments and the devices
    if lowering.compile_args["mut"] is not None:
        raise outside_ref_error(fn, args, kwargs)
    module: Any = lowered.compiler_ir("stablehlo")
    signature = TreeSignature[R](
        lowered.in_tree,
        lowered.out_tree,
        tuple(Leaf(info.shape, info.dtype) for info in jax.tree.leaves(lowered.args_info)),
        # `out_info` is not defined for results whose layout is constrained, and whose sharding is open
        tuple(Leaf(aval.shape, aval.dtype) for aval in lowering.compile_args["global_out_avals"]),
        frozenset(lowering.compile_args["kept_var_idx"]),
        sum("token" in str(argument.type) for argument in _main(module).arguments),
    )
    devices = tuple(lowering._device_list or ())  # empty for an abstract mesh
    if any(each.size > len(devices) for each in meshes):
        devices = ()  # JAX assumes one device if only a constraint or a shard_map names an abstract mesh
    op_sources = tuple(_op_sources(module.operation))
    types = {name: kind for mesh in meshes for name, kind in zip(mesh.axis_names, mesh.axis_types, strict=True)}
    callbacks = {str(number): each for number, each in enumerate(lowering.compile_args["host_callbacks"])}
    callbacks |= custom_partitions(lowering, traced._params) | pallas_kernels(traced._params)
    names = _argument_names(module)
    return Lowered(f"<{name}>", lowered.as_text(), signature, devices, op_sources, names, types, callbacks)


def require_arguments(fn: Callable[..., object], name: str, kwargs: Mapping[str, object]) -> None:
    """Raise SDY-T222 if an option of `jax.jit`, or a mesh, is passed to a function that has no such parameter."""
    options = {*inspect.signature(cast(Any, jax.jit)).parameters, "mesh"}
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # a function without a signature
        return
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return
    wrong = next((each for each in kwargs if each in options and all(each != known.name for known in parameters)), None)
    if wrong is not None:
        hint = f"pass jax.jit({name}, {wrong}=...)" if wrong != "mesh" else "the mesh is that of the shardings"
        raise SdyError(Diagnostic("SDY-T222", f"{name} has no parameter {wrong}", hint=hint))


def traced_with_meshes(
    trace: Callable[..., Any], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> tuple[Any, list[AnyMesh]]:
    """Trace a call of a function; also return the meshes that it names, those of its arguments first.

    JAX lowers a function whose results have explicit axes only if the mesh of those axes is in force, or that of an
    argument. If it is neither, the function is traced again with this mesh in force.
    """
    traced = trace(*args, **kwargs)
    inner = list(dict.fromkeys(_meshes_in_params(traced._params)))
    known = [*_meshes_of(jax.tree.leaves((args, kwargs))), jax.sharding.get_abstract_mesh()]
    explicit = [each for each in inner if isinstance(each, AbstractMesh) and AxisType.Explicit in each.axis_types]
    is_new = bool(explicit) and all(each.empty for each in known)
    with jax.sharding.use_abstract_mesh(explicit[0]) if is_new else nullcontext():
        traced = trace(*args, **kwargs) if is_new else traced
    return traced, [each for each in (*known, *inner) if not each.empty]


def _meshes_in_params(params: Mapping[str, object]) -> Iterator[AnyMesh]:
    """Return the meshes in the parameters of a primitive or of a traced call, with those of nested functions."""
    yield from _meshes_of(jax.tree.leaves(dict(params)))
    for equation in equations_in(params):
        yield from _meshes_of(jax.tree.leaves(dict(equation.params)))
        yield from _meshes_of([var.aval for var in equation.outvars])


def _meshes_of(leaves: list[object]) -> Iterator[AnyMesh]:
    """Return the meshes among some values, and those of their shardings. The axes of none are manual."""
    for leaf in leaves:
        found = leaf if isinstance(leaf, NamedSharding) else getattr(leaf, "sharding", leaf)
        mesh = found.mesh if isinstance(found, NamedSharding) else found
        # inside of a shard_map, the axes of its mesh are manual
        if isinstance(mesh, jax.sharding.Mesh | AbstractMesh) and AxisType.Manual not in mesh.axis_types:
            yield mesh


def unsupported_error(name: str, message: str, meshes: Sequence[AnyMesh]) -> SdyError | None:
    """Return SDY-T216 for an error with which JAX refuses to lower a function; None if it is of another kind."""
    mesh = max(meshes, key=lambda each: each.size, default=None)
    simulated = "" if mesh is None else _simulation_hint(mesh)
    hints = {
        "AbstractMesh cannot be used": simulated,
        "AbstractMesh size": f"pass jax.ShapeDtypeStruct instead of the arrays, or {simulated}",
        "Only interpret mode": 'pass platform="tpu" or platform="cuda" to sdy.from_jax, as the kernel requires',
        "Cannot lower pallas_call": "pass compiler_params of jax.experimental.pallas.triton, or interpret=True",
        "No supported GPU": f"name the GPU in the mesh, mesh.update(abstract_device={_ABSTRACT_GPU})",
        "Mosaic kernels cannot": "call the kernel in jax.shard_map, whose shards it then gets",
    }
    hint = next((hint for beginning, hint in hints.items() if message.startswith(beginning)), None)
    if hint is None:
        return None
    first = message.splitlines()[0].rstrip(".")
    return SdyError(Diagnostic("SDY-T216", f"JAX cannot lower {name}: {first}", hint=hint))


def _simulation_hint(mesh: AnyMesh) -> str:
    """Say how to make a mesh of simulated devices."""
    flag = f"XLA_FLAGS=--xla_force_host_platform_device_count={mesh.size}"
    made = f"jax.make_mesh({mesh.axis_sizes}, {mesh.axis_names})"
    return f"simulate the devices: set {flag} before JAX starts, and use {made}"


def _op_sources(op: Any) -> Iterator[tuple[str, str]]:
    """Return the Python line (`train.py:12`, `In[3]:4`) and the scope of each op nested in `op`, in program order."""
    for region in op.regions:
        for block in region:
            for inner in block:
                location = str(inner.location)
                named = _NAMED.match(location)
                yield _line_of_user(location), scope_of_name(named[1]) if named else ""
                yield from _op_sources(inner.operation)


def _line_of_user(location: str) -> str:
    """Return the innermost call in code of the user, or in a library if the user calls nothing but that.

    A location lists the traced calls, then those of this package, then the callers of `lower`.
    """
    calls = takewhile(lambda match: not _is_of_package(match[1]), _FILE_LINE.finditer(location))
    return line_of_user(((match[1], int(match[2])) for match in calls), _file_name)


@cache
def _is_of_package(path: str) -> bool:
    return _PACKAGE in Path(path).parents


def _file_name(path: str) -> str:
    """Return the name of a Python file, or that of a cell of a notebook: `train.py`, `In[3]`."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    cell = None if shell is None else shell.compile.format_code_name(path)
    return Path(path).name if cell is None else cell[1]


def _argument_names(module: Any) -> tuple[str, ...]:
    """Return the names of the arguments, which JAX stores in the locations of the arguments of the main function."""
    return tuple(_NAME.sub(r"\1", str(argument.location)) for argument in _main(module).arguments)


def _main(module: Any) -> Any:
    """Return the main function of an MLIR module."""
    return next(op for op in module.body if op.attributes["sym_name"].value == "main")


_HINT = "pass ref[...], create the ref inside of the function with jax.new_ref, and return its new value"


def outside_ref_error(fn: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> SdyError:
    """Return SDY-T215 for the first argument that is a `jax.Ref`, or for one that `fn` closes over."""
    names = [name for name, leaf in named_leaves(fn, args, kwargs) if isinstance(leaf, jax.Ref)]
    which = f"argument {names[0]} is a jax.Ref" if names else "the function closes over a jax.Ref"
    message = f"{which}, whose changes a program cannot return: it is a function of arrays"
    return SdyError(Diagnostic("SDY-T215", message, hint=_HINT))


def device_mismatch_error(
    fn: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> SdyError | None:
    """Return SDY-T211 for the first argument whose devices differ from those of the arguments before it.

    Return None if all committed arrays are on the same devices in the same order.
    """
    committed = _committed(named_leaves(fn, args, kwargs))
    first_name, first = next(committed, ("", ()))
    for name, devices in committed:
        if devices != first:
            order = " in another order" if sorted(first) == sorted(devices) else ""
            message = f"{first_name} is on {_devices_text(first)}, and {name} on {_devices_text(devices)}{order}"
            return SdyError(Diagnostic("SDY-T211", message, hint=_DEVICES_HINT))
    return None


def named_leaves(
    fn: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> Iterator[tuple[str, Any]]:
    """Return each leaf of the arguments of a call with its name, `params['w']` for example."""
    for name, argument in _by_name(fn, args, kwargs).items():
        leaves = cast(list[tuple[Any, Any]], jax.tree_util.tree_leaves_with_path(argument))
        yield from ((name + jax.tree_util.keystr(path), leaf) for path, leaf in leaves)


def _by_name(fn: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments by parameter name, or by position if the function has no signature."""
    try:
        bound = inspect.signature(fn).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return {f"argument {index}": value for index, value in enumerate(args)} | dict(kwargs)
    return dict(bound.arguments)


def _committed(leaves: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Return the name and the devices of each committed array; the devices of an abstract mesh are all -1."""
    for name, leaf in leaves:
        sharding: Any = getattr(leaf, "sharding", None)
        if sharding is not None and getattr(leaf, "committed", True):
            yield name, _devices(sharding)


def _devices(sharding: Any) -> tuple[int, ...]:
    """Return the device ids in the order of the mesh, or sorted if the sharding has no mesh."""
    if not isinstance(sharding, NamedSharding):
        return tuple(sorted(device.id for device in sharding.device_set))
    if isinstance(sharding.mesh, AbstractMesh):
        return (-1,) * sharding.mesh.size
    return tuple(device.id for device in sharding.mesh.devices.flat)


def _devices_text(devices: tuple[int, ...]) -> str:
    if -1 in devices:
        return f"{len(devices)} devices of an abstract mesh"
    return f"device{'s' * (len(devices) > 1)} {', '.join(map(str, devices))}"


def mesh_assignment(signature: TreeSignature[Any], prefix: Any, *, is_input: bool) -> str:
    """Return the option that places arguments or results, from a prefix tree of names of meshes, or None."""
    if prefix == () or prefix is None:
        return ""
    tree = signature.in_tree if is_input else signature.out_tree
    full = jax.tree.unflatten(tree, range(tree.num_leaves))
    given = jax.tree.broadcast(prefix, full[0] if is_input else full, is_leaf=_is_none)
    names = jax.tree.leaves(given, is_leaf=_is_none)
    kept = sorted(signature.used) if is_input else range(len(names))
    return ",".join(f"{position}@{names[index]}" for position, index in enumerate(kept) if names[index] is not None)


def _is_none(each: object) -> bool:
    return each is None


def devices_of(meshes: Iterable[Any]) -> tuple[object, ...]:
    """Return the devices of meshes, one mesh after the other; none if one is abstract."""
    found = list(meshes)
    if any(isinstance(mesh, AbstractMesh) for mesh in found):
        return ()
    return tuple(device for mesh in found for device in mesh.devices.flat)


def rebased_call(
    func: Callable[..., Any],
    mesh: Any,
    args: Sequence[Any],
    in_shardings: Any,
    out_shardings: Any,
    donate_argnums: int | Sequence[int],
) -> Lowered[Any]:
    """Lower a call of `func` with all shardings on `mesh`. Raises: ValueError if one is on a mesh of another shape."""

    def sharding(each: Any, what: str) -> Any:
        if not isinstance(each, NamedSharding):
            return each
        if dict(each.mesh.shape) != dict(mesh.shape):
            message = "Sharding mismatch when standardizing sharding to use the same mesh for"
            raise ValueError(f'{message} "{what}": {each.mesh} has other axes than {mesh}.')
        return NamedSharding(mesh, each.spec)

    def argument(each: Any) -> Any:
        found = sharding(getattr(each, "sharding", None), "lowering_args")
        known = found if isinstance(found, NamedSharding) else None
        return jax.ShapeDtypeStruct(jax.numpy.shape(each), jax.dtypes.result_type(each), sharding=known)

    options: dict[str, Any] = {"donate_argnums": donate_argnums}
    for name, given in (("in_shardings", in_shardings), ("out_shardings", out_shardings)):
        if given is not None:
            options[name] = jax.tree.map(partial(sharding, what=name), given)
    return lower(jax.jit(func, **options), jax.tree.map(argument, tuple(args)), {})
