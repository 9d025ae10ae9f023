"""Ops that each shard computes by itself, once explicit reshards have made the tensors agree.

Source: docs/spec/06, 1.4, 1.14 and 1.15.
"""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.partitioner.local.lowering import LocalForm, Lowering


def independent(op: Operation) -> LocalForm:
    """The same op on smaller tensors."""

    def lower(lowering: Lowering) -> None:
        for result in tuple(op.results):
            lowering.make_local(result, op)

    return lower
