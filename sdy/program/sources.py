"""The sources of a `Program`: `sdy.load` reads a file, `sdy.from_jax` lowers a JAX function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from xdsl.dialects.builtin import ModuleOp

from sdy.compile.origin import Origin
from sdy.compile.source_text import source_text, verify_and_normalize
from sdy.diagnostics.progress import note_step
from sdy.diagnostics.user_code import require_callable, require_type
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import parse_module
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.dialects.verification.ignored_annotations import ignored_annotations
from sdy.dialects.verification.op_checks import OpChecks
from sdy.interpreter.arrays.element_types import Array
from sdy.jax.optional_jax import require_jax
from sdy.program.program import Program

if TYPE_CHECKING:
    from sdy.jax.to_stablehlo.lowering import Lowered

R = TypeVar("R")


def from_jax(fn: Callable[..., R], /, *args: object, platform: str | None = None, **kwargs: object) -> Program[R]:
    """Lower a call of `fn` to a program, without running it. `fn` may be jitted, by `jax.jit` or `sdy.jit`, or not.

    The arguments are arrays, or `jax.ShapeDtypeStruct`s with a `NamedSharding`, whose mesh may be abstract. The program
    takes and returns the same pytrees as `fn`, with NumPy arrays as leaves. `platform` is `cpu`, `tpu`, `cuda` or
    `rocm`, by default that of JAX; the machine need not be there.
    Raises: SdyError SDY-T205 if JAX is not installed, SDY-T214 if it is too old, SDY-T211 if the arguments are on
    different devices, SDY-T215 if `fn` uses a `jax.Ref` that it did not create, SDY-T216 if JAX cannot lower it for the
    platform or an abstract mesh, SDY-T217 if no platform has this name, SDY-T222 if an option
    of `jax.jit` is among the arguments; any error of JAX if `fn` cannot be traced.
    """
    require_callable(fn, "sdy.from_jax: fn", "pass the function, and then the arguments of a call")
    require_jax()
    from sdy.jax.jitted import JittedFunction
    from sdy.jax.to_stablehlo.lowering import lower

    if isinstance(fn, JittedFunction):  # which lowers to a program that is already partitioned
        fn = fn.jitted
    note_step(f"JAX traces and lowers {getattr(fn, '__name__', 'a function')}")
    lowered = lower(fn, args, kwargs, platform)
    note_step(f"read {lowered.name}")
    return Program(*read_lowered(lowered))


def read_lowered(lowered: Lowered[R]) -> tuple[ModuleOp, Origin[R]]:
    """Return the module of what JAX lowered, and its origin. Raises: SdyError with the first error in its text."""
    module = parse_module(lowered.text, lowered.name)
    source_lines, scopes = _source_lines_and_scopes(module, lowered.op_sources)
    checks = OpChecks()
    verify_and_normalize(module, lowered.text, checks)
    return module, Origin(
        lowered.text,
        lowered.signature,
        source_lines,
        lowered.argument_names,
        lowered.devices,
        lowered.axis_types,
        lowered.callbacks,
        tuple(ignored_annotations(module)),
        scopes,
        checks,
    )


def _source_lines_and_scopes(
    module: ModuleOp, op_sources: Sequence[tuple[str, str]]
) -> tuple[dict[int, str], dict[int, str]]:
    """Map each line of the text that defines values, or is a custom call, to the Python line and the scope of its op.

    `op_sources` lists these for each op of the module in program order.
    """
    source_lines, scopes = dict[int, str](), dict[int, str]()
    for op, (source, scope) in zip(pre_order(module), op_sources, strict=True):
        span = span_of(op)
        if (op.results or isinstance(op, CustomCallOp)) and span is not None:
            source_lines |= {span.line: source} if source else {}
            scopes |= {span.line: scope} if scope else {}
    return source_lines, scopes


def load(path: str | Path) -> Program[list[Array]]:
    """Read a program from a file of MLIR text, or of another format that `sdy.compile.source_text` converts.

    Raises: OSError if it cannot be read, SdyError with the first error in its text.
    """
    require_type(path, (str, Path), "sdy.load: path")
    return Program.from_text(source_text(Path(path).read_bytes(), str(path)), str(path))
