"""Functions jitted by `sdy.jit`: JAX traces, dispatches and compiles, and the partitioner of `sdy` comes in between.

    before  func @main(%x: tensor<8xf32> {<@mesh, [{"x"}]>}) -> ... { ops on global shapes }
    after   func @main(%x: tensor<8xf32> {<@mesh, [{"x"}]>}) -> ... { sdy.manual_computation: call @on_device }

The module of a function that JAX has lowered is replaced by the program of one device. All that JAX knows about the
call stays: structures, donated and unused arguments, callbacks, devices. XLA has nothing left to partition, as in a
`jax.shard_map`. Two calls with equal keys run the same compiled program, as for `jax.jit`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import update_wrapper
from importlib import import_module
from inspect import currentframe
from pathlib import Path
from types import MethodType
from typing import Any, Generic, ParamSpec, TypeVar, cast
from warnings import warn
from weakref import WeakKeyDictionary

import jax
import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from sdy.diagnostics.diagnostic import Diagnostic, InternalError, SdyError
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.module_text import print_module
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.sdy.ops import ReturnOp as SdyReturnOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import set_argument_sharding, set_function_result_sharding
from sdy.jax.to_devices.run_on_devices import module_for_xla, only_mesh
from sdy.model.axis import AxisList, AxisRef
from sdy.model.devices.common_mesh import names_on_split_mesh, split_mesh
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement
from sdy.model.sharding import DimSharding, TensorSharding

# Parts of JAX without public names: what a trace depends on beside the arguments, and whether one is in progress.
_TRACE_CONTEXT: Any = import_module("jax._src.config").trace_context
_IS_OUTSIDE_OF_TRACES: Any = import_module("jax._src.core").trace_state_clean
_TRACER: type[object] = import_module("jax.core").Tracer
_SCALARS = (bool, int, float, complex)


class OtherCallError(Exception):
    """A call that `jax.jit` runs: one inside of a transformation, or with arguments that are not arrays."""


@dataclass(frozen=True)
class StaticArguments:
    """The positions and names of the static arguments of a function."""

    numbers: frozenset[int]
    names: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.numbers or self.names)

    @staticmethod
    def of(jitted: Any) -> StaticArguments:
        """Return the static arguments of a function that JAX has jitted."""
        info = jitted._jit_info  # JAX has added the names of positions, and the positions of names
        return StaticArguments(frozenset(info.static_argnums), frozenset(info.static_argnames))

    def dynamic(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call that are not static."""
        numbers = self._numbers_in(args)
        rest = tuple(each for index, each in enumerate(args) if index not in numbers)
        return rest, {name: each for name, each in kwargs.items() if name not in self.names}

    def values(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Hashable, ...]:
        """Return the static arguments of a call with their types, in an order that does not depend on the call."""
        given = [(index, args[index]) for index in sorted(self._numbers_in(args))]
        named = [(name, kwargs[name]) for name in sorted(self.names & kwargs.keys())]
        return tuple((where, cast("Hashable", type(each)), each) for where, each in (*given, *named))

    def _numbers_in(self, args: tuple[Any, ...]) -> set[int]:
        """Return the positions of the static arguments of a call; negative ones count from its end."""
        count = len(args)
        return {index % count for index in self.numbers if -count <= index < count}


def call_key(static: StaticArguments, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Hashable:
    """Return the key of a call: the structure, types and shardings of its arguments, static values, JAX's settings.

    Raises: OtherCallError if the call is inside of a transformation of JAX, or has an argument that is not an array.
    """
    if not _IS_OUTSIDE_OF_TRACES():
        raise OtherCallError("it is called inside of a transformation of JAX")
    known: Hashable = None
    if static:
        known = static.values(args, kwargs)
        args, kwargs = static.dynamic(args, kwargs)
    leaves, structure = cast("tuple[list[Any], Hashable]", jax.tree.flatten((args, dict(kwargs))))
    return structure, tuple(map(_leaf_key, leaves)), known, _TRACE_CONTEXT()


def _leaf_key(leaf: Any) -> Hashable:
    array: Any = leaf
    if isinstance(leaf, _TRACER):
        raise OtherCallError("it is called inside of a transformation of JAX")
    if isinstance(leaf, jax.Array):
        return array.aval, array.sharding, array.committed
    if isinstance(leaf, (np.ndarray, np.generic)):
        return array.shape, array.dtype
    if type(leaf) in _SCALARS:
        return cast("Hashable", type(leaf))
    raise OtherCallError(f"an argument has the type {type(leaf).__name__}")


_MLIR: Any = import_module("jaxlib.mlir.ir")  # a part of jaxlib without type stubs
_MESH = "mesh"


def with_local_program(lowered: jax.stages.Lowered, local: ModuleOp, boundary: ProgramPlacement) -> jax.stages.Lowered:
    """Return a copy of a lowered call that runs the local program of its module, whose placement is `boundary`.

    Raises: SdyError SDY-X104 if the program is on several meshes, SDY-X115 if a result is unreduced.
    """
    whole: Any = copy(lowered)  # JAX caches the lowering, and shares it with other functions
    lowering: Any = copy(whole._lowering)
    with lowering._hlo.context:
        lowering._hlo = _MLIR.Module.parse(print_module(on_global_shapes(local, boundary)))
    lowering._executable = None
    whole._lowering = lowering
    return whole


def on_global_shapes(local: ModuleOp, boundary: ProgramPlacement) -> ModuleOp:
    """Return a module on global shapes whose main function runs `local` on each device. Raises: as above."""
    module = module_for_xla(local)
    mesh = only_mesh(boundary)
    placements = (*boundary.arguments, *boundary.results)
    split, digits = split_mesh(mesh, [ref for placement in placements for ref in placement.sharding.axis_refs()])
    ins = tuple(_on_split_mesh(placement, digits) for placement in boundary.arguments)
    outs = tuple(_on_split_mesh(placement, digits) for placement in boundary.results)

    on_device = main_function(module)
    types = on_device.function_type
    global_types = [_global_type(*each) for each in zip(types.inputs, boundary.arguments, strict=True)]
    result_types = [_global_type(*each) for each in zip(types.outputs, boundary.results, strict=True)]
    main = FuncOp(on_device.sym_name.data, (global_types, result_types), visibility="public")
    main.arg_attrs, main.res_attrs = on_device.arg_attrs, on_device.res_attrs
    on_device.arg_attrs = on_device.res_attrs = None
    on_device.sym_visibility = StringAttr("private")
    on_device.sym_name = StringAttr(_unused_name(module))

    shards = Block(arg_types=types.inputs.data)
    call = CallOp(on_device.sym_name.data, shards.args, types.outputs.data)
    shards.add_ops((call, SdyReturnOp.create(operands=call.results)))
    axes = tuple(axis.name for axis in split.axes)
    manual = ManualComputationOp(main.body.block.args, ins, outs, axes, Region(shards), result_types)
    main.body.block.add_ops((manual, ReturnOp(*manual.results)))
    for index, sharding in enumerate(ins):
        set_argument_sharding(main, index, sharding)
    for index, sharding in enumerate(outs):
        set_function_result_sharding(main, index, sharding)
    module.body.block.add_ops((MeshOp(_MESH, split), main))
    return module


def _on_split_mesh(placement: TensorPlacement, digits: AxisList) -> TensorSharding:
    """Return the sharding on the mesh whose axes are split so that no sub-axes are left, as JAX requires."""
    if placement.sharding.unreduced:
        message = f"a result is unreduced: {placement.sharding}"
        raise SdyError(Diagnostic("SDY-X115", message, hint="reduce it in the function, or use jax.jit"))
    dims = (
        tuple(name for ref in dim.axes for name in names_on_split_mesh(ref, digits)) for dim in placement.sharding.dims
    )
    return TensorSharding(_MESH, tuple(DimSharding(tuple(map(AxisRef, names))) for names in dims))


def _global_type(local: Attribute, placement: TensorPlacement) -> Attribute:
    return TensorType(cast("TensorType[Attribute]", local).element_type, placement.shape)


def _unused_name(module: ModuleOp) -> str:
    names = functions_of(module)
    name = "on_device"
    while name in names:
        name += "_"
    return name


_XLA_ERROR: type[Exception] = import_module("jax.errors").JaxRuntimeError
_CONFIG: Any = jax.config  # whose settings have no types
for _module in ("source_info_util", "traceback_util"):  # JAX's messages name the line that calls into this module
    import_module(f"jax._src.{_module}").register_exclusion(__file__)
_LIBRARIES = (str(Path(__file__).parents[1]), str(Path(jax.__file__).parent))
P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class JitFallbackWarning(UserWarning):
    """A function of `sdy.jit` that `jax.jit` compiles, because `sdy` refuses it or because it is transformed."""


ProgramT = TypeVar("ProgramT")  # a `sdy.Program`, whose module is not imported here


class TracedFunction:
    """A traced call of a function of `sdy.jit`: a `jax.stages.Traced` whose `lower` partitions the program."""

    def __init__(self, traced: jax.stages.Traced, lower: Callable[..., jax.stages.Lowered]) -> None:
        self._traced = traced
        self.lower = lower

    def __getattr__(self, name: str) -> Any:
        return getattr(self._traced, name)


class JittedFunction(Generic[P, R, ProgramT]):
    """A function that JAX traces and dispatches, `sdy` partitions, and XLA compiles for each device.

    It is called as a function of `jax.jit`, which has the same arguments: `jitted` is that function, and compiles what
    `sdy` refuses. `read` returns the program of a call.
    """

    def __init__(self, jitted: Callable[P, R], read: Callable[..., ProgramT]) -> None:
        update_wrapper(self, jitted)
        self.jitted = jitted
        self._read = read
        self._static = StaticArguments.of(jitted)
        self._compiled: dict[Hashable, Callable[..., Any] | None] = {}
        self._lowered: WeakKeyDictionary[Any, jax.stages.Lowered | None] = WeakKeyDictionary()
        self._warned: set[str] = set()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function, which is traced, partitioned and compiled at the first call with arguments of such types.

        Raises: any error of JAX, as `jax.jit` does.
        """
        if _CONFIG.jax_disable_jit:
            return self.jitted(*args, **kwargs)
        try:
            key = call_key(self._static, args, kwargs)
            is_known = key in self._compiled
        except OtherCallError as reason:
            result = self.jitted(*args, **kwargs)  # whose errors come first
            self._warn("call", str(reason))
            return result
        except TypeError:  # JAX says which static argument is not hashable
            return self.jitted(*args, **kwargs)
        if not is_known:
            jitted: Any = self.jitted
            try:
                lowered: jax.stages.Lowered = jitted.lower(*args, **kwargs)
            except (ValueError, OverflowError):  # a call raises it again, with the words for a call
                return self.jitted(*args, **kwargs)
            self._compiled[key] = self._compile(lowered, args, kwargs)
        run = self._compiled[key]
        if run is None:
            return self.jitted(*args, **kwargs)
        args_of_run, kwargs_of_run = self._static.dynamic(args, kwargs) if self._static else (args, kwargs)
        return cast(R, run(*args_of_run, **kwargs_of_run))

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Return the method of an instance, as for a function that is defined in a class."""
        return self if instance is None else MethodType(self, instance)

    def program(self, *args: P.args, **kwargs: P.kwargs) -> ProgramT:
        """Return the program of a call, as `sdy.from_jax` does. Raises: as `sdy.from_jax`."""
        return self._read(self.jitted, *args, **kwargs)

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> TracedFunction:
        """Trace a call, whose arguments may be `jax.ShapeDtypeStruct`s. Raises: any error of JAX."""
        jitted: Any = self.jitted
        return TracedFunction(jitted.trace(*args, **kwargs), lambda: self.lower(*args, **kwargs))

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> jax.stages.Lowered:
        """Trace a call and partition its program; `lower(...).compile()` compiles it. Raises: any error of JAX."""
        jitted: Any = self.jitted
        lowered: jax.stages.Lowered = jitted.lower(*args, **kwargs)
        partitioned = self._partitioned(lowered, args, kwargs)
        return lowered if partitioned is None else partitioned

    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Return the shapes, dtypes and shardings of the results of a call, as `jax.jit` does."""
        jitted: Any = self.jitted
        return jitted.eval_shape(*args, **kwargs)

    def clear_cache(self) -> None:
        """Forget all programs that are traced or compiled."""
        jitted: Any = self.jitted
        self._compiled.clear()
        self._lowered.clear()
        jitted.clear_cache()

    def _compile(
        self, whole: jax.stages.Lowered, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Callable[..., Any] | None:
        """Return the compiled program of a call that JAX has lowered; None if `jax.jit` runs it."""
        lowered = self._partitioned(whole, args, kwargs)
        if lowered is None:
            return None
        try:
            return lowered.compile()
        except _XLA_ERROR as error:
            self._warn("XLA", f"XLA does not compile the partitioned program: {error}")
            return None

    def _partitioned(
        self, lowered: jax.stages.Lowered, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> jax.stages.Lowered | None:
        """Return the lowered call with the program of one device; None for one device, or if `sdy` refuses it."""
        private: Any = lowered
        lowering = private._lowering  # which JAX caches
        if lowering.compile_args["num_devices"] == 1:
            return None
        if lowering not in self._lowered:
            try:
                with garbage_collection_paused():
                    program: Any = self._read(self.jitted, *args, **kwargs)
                    found = program.partition()
                    self._lowered[lowering] = with_local_program(lowered, found.local, found.boundary)
            except (SdyError, InternalError) as error:  # a training run goes on in spite of a bug in `sdy`
                code = error.diagnostics[0].code if isinstance(error, SdyError) else "a bug in sdy"
                self._warn(code, str(error) if isinstance(error, SdyError) else f"{code}: {error}")
                self._lowered[lowering] = None
        return self._lowered[lowering]

    def _warn(self, kind: str, reason: str) -> None:
        """Say why JAX compiles the function, once for each kind of reasons."""
        if kind in self._warned:
            return
        self._warned.add(kind)
        name = getattr(self, "__name__", "the function")
        warn(f"sdy.jit: jax.jit runs {name}: {reason}", JitFallbackWarning, stacklevel=_level_of_user())


def _level_of_user() -> int:
    """Return the number of frames from the caller to the first one outside of this package and JAX."""
    own = currentframe()
    level, frame = 1, own and own.f_back
    while frame is not None and frame.f_code.co_filename.startswith(_LIBRARIES):
        level, frame = level + 1, frame.f_back
    return level
