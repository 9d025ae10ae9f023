"""All programs of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator

from sdy.dialects.stablehlo.collectives import OPS
from sdy.evidence.audit.catalogue import arithmetic, movement, structured
from sdy.rules.all import RULES

# Ops with a rule whose programs are not in the catalogue, and why.
NOT_AUDITED = {
    "chlo.ragged_dot": "the sizes of its groups count elements of the full ragged dim; its own tests run it on shards",
    "chlo._asin_acos_kernel": "has no definition, hence no kernel",
    "mpmd.transfer": "moves a value between meshes, on which no kernel runs",
    "sdy.sharding_constraint": "does not compute",
    "stablehlo.custom_call": "each target has a rule of its own: audit a program that calls it",
    **dict.fromkeys(
        (op.name for op in OPS if op in RULES),
        "is a collective: it computes on several devices, of which each has full operands",
    ),
}


def programs() -> Iterator[str]:
    """Yield the text of each program; its last op before the terminator is the audited one."""
    for ops in (*arithmetic.PROGRAMS, *movement.PROGRAMS, *structured.PROGRAMS):
        yield from ops()
