"""Where the arguments and results of a program lie, as JAX says it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from typing_extensions import TypeVar

from sdy.interpreter.arrays.element_types import Array
from sdy.model.devices.placement import ProgramPlacement
from sdy.program.on_jax import named_shardings
from sdy.program.origin import Origin

R = TypeVar("R", default=list[Array])


class Placed(Generic[R]):
    """What programs have in common whose arguments and results have places."""

    boundary: ProgramPlacement
    origin: Origin[R]

    def input_shardings(self, devices: Sequence[object] = ()) -> object:
        """Where the arguments lie: JAX's `NamedSharding`s, arranged as the arguments.

        They are on `devices`; without, on those of the program that came from JAX; else on an abstract mesh.
        Raises: SdyError where there are too few, or JAX is not installed.
        """
        origin = self.origin
        places = named_shardings(self.boundary.arguments, devices or origin.devices, origin.axis_types)
        return origin.signature.argument_tree(places)

    def output_shardings(self, devices: Sequence[object] = ()) -> object:
        """Where the results lie, arranged as the results; otherwise as `input_shardings`."""
        origin = self.origin
        places = named_shardings(self.boundary.results, devices or origin.devices, origin.axis_types)
        return origin.signature.result_tree(places)
