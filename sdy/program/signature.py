"""How people give a program its arguments and take its results: one after the other, or in the trees of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.interpreter.arrays.element_types import Array

R_co = TypeVar("R_co", covariant=True)


class Signature(Protocol[R_co]):
    """Between what people hold and the arguments and results of the main function, which stand in a row."""

    def flat_arguments(self, given: tuple[object, ...], named: Mapping[str, object]) -> list[Array]:
        """The arrays that a call gives to the main function. Raises: SdyError where the call does not fit."""
        ...

    def flat_results(self, given: object) -> list[Array]:
        """The arrays of what the function is expected to return. Raises: SdyError where it has another structure."""
        ...

    def results(self, flat: Sequence[Array]) -> R_co:
        """What the function returns."""
        ...

    def argument_tree(self, leaves: Sequence[object]) -> object:
        """One thing per argument of the main function, arranged as the arguments."""
        ...

    def result_tree(self, leaves: Sequence[object]) -> object:
        """One thing per result of the main function, arranged as the results."""
        ...

    def on_devices(self, flat: Callable[..., Sequence[object]]) -> Callable[..., R_co]:
        """A function of JAX arrays in a row, as one of what people hold."""
        ...


class InOrder:
    """The signature of a program that was read from text: arrays in a row, results in a list."""

    def flat_arguments(self, given: tuple[object, ...], named: Mapping[str, object]) -> list[Array]:
        """The arrays as they are given. Raises: SdyError SDY-X106 where there are names."""
        if named:
            names = ", ".join(named)
            hint = "give the arrays in the order of the arguments"
            raise SdyError(
                Diagnostic("SDY-X106", f"a program read from text takes no argument by name: {names}", hint=hint)
            )
        return [np.asarray(cast(ArrayLike, array)) for array in given]

    def flat_results(self, given: object) -> list[Array]:
        """The arrays of a sequence."""
        return [np.asarray(array) for array in cast(Sequence[ArrayLike], given)]

    def results(self, flat: Sequence[Array]) -> list[Array]:
        """A list of arrays."""
        return list(flat)

    def argument_tree(self, leaves: Sequence[object]) -> object:
        """A list."""
        return list(leaves)

    def result_tree(self, leaves: Sequence[object]) -> object:
        """A list."""
        return list(leaves)

    def on_devices(self, flat: Callable[..., Sequence[object]]) -> Callable[..., list[Array]]:
        """The function itself."""
        return cast(Callable[..., list[Array]], flat)
