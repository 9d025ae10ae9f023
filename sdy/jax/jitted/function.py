"""The functions that `sdy.jit` returns: `jax.jit`, with the partitioner of `sdy` between tracing and compilation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import update_wrapper
from importlib import import_module
from inspect import currentframe
from pathlib import Path
from types import MethodType
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast
from warnings import warn
from weakref import WeakKeyDictionary

import jax
from xdsl.dialects.builtin import ModuleOp

from sdy.diagnostics.diagnostic import InternalError, SdyError
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.jax.jitted.call_key import OtherCallError, StaticArguments, call_key
from sdy.jax.jitted.local_lowering import with_local_program
from sdy.model.devices.placement import ProgramPlacement

_XLA_ERROR: type[Exception] = import_module("jax.errors").JaxRuntimeError
_CONFIG: Any = jax.config  # whose settings have no types
for _module in ("source_info_util", "traceback_util"):  # JAX's messages name the line that calls into this module
    import_module(f"jax._src.{_module}").register_exclusion(__file__)
_LIBRARIES = (str(Path(__file__).parents[2]), str(Path(jax.__file__).parent))
P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class JitFallbackWarning(UserWarning):
    """A function of `sdy.jit` that `jax.jit` compiles, because `sdy` refuses it or because it is transformed."""


class LocalProgram(Protocol):
    """A program of one device, and the placement of its arguments and results on all devices."""

    @property
    def local(self) -> ModuleOp:
        """The module that each device runs."""
        ...

    @property
    def boundary(self) -> ProgramPlacement:
        """The shardings of arguments and results."""
        ...


class PartitionableProgram(Protocol):
    """A program that can be partitioned."""

    def partition(self) -> LocalProgram:
        """Return the program of one device. Raises: SdyError at the first op that is unsupported."""
        ...


ProgramT = TypeVar("ProgramT", bound=PartitionableProgram)


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
                    program = self._read(self.jitted, *args, **kwargs).partition()
                    self._lowered[lowering] = with_local_program(lowered, program.local, program.boundary)
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
