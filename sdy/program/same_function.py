"""Compares two programs, or two functions of JAX, that should compute the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from sdy.compile.signature import Call, call_of
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.user_code import require_callable
from sdy.jax.optional_jax import require_jax
from sdy.program.program import Program
from sdy.program.sources import from_jax

if TYPE_CHECKING:
    from sdy.evidence.runs.verification import OutputComparisons
    from sdy.interpreter.arrays.element_types import Array

Function = Callable[..., Any]


def same_function(
    reference: Program[Any] | Function,
    candidate: Program[Any] | Function,
    /,
    *args: object,
    gradients: bool = False,
    seed: int = 0,
) -> OutputComparisons:
    """Decide whether the candidate, on the devices of its mesh, computes the same function as the reference on one.

    Both are programs, or functions of JAX with the arguments of one call, which may be shapes; the candidate may be
    written otherwise, as by hand in `jax.shard_map`. With `gradients`, those for all floats are compared too, for any
    cotangents. Of arrays that are given, integers are kept. The `verdict` of the result is the same function, differs,
    or not decided: then results of floats agree within rounding.
    Raises: SdyError SDY-V007 if arguments or results differ in number or type, SDY-T288 if the gradients of a program
    are asked for; as `sdy.from_jax`, SDY-X150 if memory is insufficient.
    """
    from sdy.evidence.runs.against import verify_against
    from sdy.evidence.runs.verification import OutputComparisons

    call = call_of(args)
    plain, _ = _program(reference, call, gradients=gradients, seed=seed, what="reference")
    found, given = _program(candidate, call, gradients=gradients, seed=seed, what="candidate")
    return OutputComparisons(verify_against(plain.module, found.partition(), seed, given))


def _program(
    of: Program[Any] | Function, call: Call, *, gradients: bool, seed: int, what: str
) -> tuple[Program[Any], list[Array] | None]:
    """Return the program of a function, and the arrays to run it on if they are given."""
    if isinstance(of, Program):
        if gradients:
            message = f"the {what} is a program, expected a function of JAX to derive"
            raise SdyError(Diagnostic("SDY-T288", message))
        program, is_given = cast(Program[Any], of), bool(call.args or call.kwargs)
        return program, program.origin.signature.flat_arguments(call.args, call.kwargs) if is_given else None
    require_callable(of, f"sdy.same_function: {what}", "pass functions, and then the arguments of a call")
    require_jax()
    from sdy.jax.to_stablehlo.gradients import compared_call

    lowered = compared_call(of, call.args, call.kwargs, gradients=gradients, seed=seed)
    keywords: dict[str, Any] = call.kwargs
    program = from_jax(lowered.fn, *lowered.args, **keywords)
    flat = program.origin.signature.flat_arguments
    return program, flat(lowered.args, call.kwargs) if lowered.has_arrays else None
