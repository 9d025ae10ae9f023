"""Signatures: convert between the arguments and results of a call and the flat arrays of the main function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from sdy.diagnostics.diagnostic import Diagnostic, SdyError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from sdy.interpreter.arrays.element_types import Array

R_co = TypeVar("R_co", covariant=True)


class Call:
    """The arguments of one call of a program: `sdy.Call(x, key=k)` stands for `f(x, key=k)`.

    Methods that take the arguments of a call, and keywords of their own, take this where the call has keywords.
    """

    def __init__(self, /, *args: object, **kwargs: object) -> None:
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        words = (*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items()))
        return f"Call({', '.join(words)})"


def call_of(args: tuple[object, ...]) -> Call:
    """Return the call with these positional arguments, or the call that is the only one of them."""
    return args[0] if len(args) == 1 and isinstance(args[0], Call) else Call(*args)


class ProgramSignature(Protocol[R_co]):
    """Converts between the structures that a caller uses and the flat arguments and results of the main function."""

    def flat_arguments(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> list[Array]:
        """Return the arrays that a call passes to the main function.

        Raises: SdyError SDY-X106 if the call does not have the structure of the arguments.
        """
        ...

    def flat_results(self, results: object) -> list[Array]:
        """Return the arrays of a structure of results.

        Raises: SdyError SDY-X106 if it does not have the structure of the results.
        """
        ...

    def results(self, flat: Sequence[Array]) -> R_co:
        """Return the results of the main function in the structure that the caller expects."""
        ...

    def argument_tree(self, leaves: Sequence[object]) -> object:
        """Return `leaves`, one per argument of the main function, in the structure of the arguments."""
        ...

    def result_tree(self, leaves: Sequence[object]) -> object:
        """Return `leaves`, one per result of the main function, in the structure of the results."""
        ...

    def on_devices(self, flat: Callable[..., Sequence[object]]) -> Callable[..., R_co]:
        """Return a function that calls `flat`, a function of flat JAX arrays, with structured arguments and results."""
        ...


class FlatSignature:
    """The signature of a program that was read from text: positional arrays, and a list of results."""

    def flat_arguments(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> list[Array]:
        """Return the positional arguments as arrays. Raises: SdyError SDY-X106 if there are keyword arguments."""
        if kwargs:
            message = f"a program read from text takes no keyword arguments, got {', '.join(kwargs)}"
            raise SdyError(Diagnostic("SDY-X106", message, hint="pass the arrays in the order of the arguments"))
        return [_array(array, f"input {index}") for index, array in enumerate(args)]

    def flat_results(self, results: object) -> list[Array]:
        """Return the elements of a sequence as arrays."""
        return [_array(array, f"result {index}") for index, array in enumerate(cast(Sequence[object], results))]

    def results(self, flat: Sequence[Array]) -> list[Array]:
        """Return a list of arrays."""
        return list(flat)

    def argument_tree(self, leaves: Sequence[object]) -> object:
        """Return a list."""
        return list(leaves)

    def result_tree(self, leaves: Sequence[object]) -> object:
        """Return a list."""
        return list(leaves)

    def on_devices(self, flat: Callable[..., Sequence[object]]) -> Callable[..., list[Array]]:
        """Return `flat`."""
        return cast("Callable[..., list[Array]]", flat)


def _array(value: object, name: str) -> Array:
    """Return a value as an array. Raises: SdyError SDY-X106 if NumPy cannot make one of it."""
    import numpy as np  # only the commands that run a program need it

    try:
        return np.asarray(cast("ArrayLike", value))
    except (ValueError, TypeError) as error:
        hint = "pass NumPy arrays, or nested lists of equal length"
        raise SdyError(Diagnostic("SDY-X106", f"expected an array for {name}: {error}", hint=hint)) from None
