"""Programs of one op that draws random bits."""

from __future__ import annotations

from collections.abc import Iterator

from sdy.evidence.audit.catalogue.text import generic, tensor


def programs() -> Iterator[str]:
    """Yield programs of all ops of the family."""
    for shape in ((4,), (2, 4)):
        results = [tensor((2,), "ui64"), tensor(shape, "ui32")]
        attributes = "rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>"
        yield generic("stablehlo.rng_bit_generator", [tensor((2,), "ui64")], results, attributes)


PROGRAMS = (programs,)
