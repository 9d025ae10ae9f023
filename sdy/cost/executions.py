"""Which ops of a program run, and how often.

A loop whose trips its text does not tell counts as one trip; of branches, all count.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, Region

from sdy.cost.trips import trip_count
from sdy.dialects.stablehlo.control import WhileOp
from sdy.dialects.symbols import functions_of, main_function

Execution = tuple[Operation, int]


def executions(module: ModuleOp) -> Iterator[Execution]:
    """The ops that a run of the main function reaches, through calls too, each with how often it runs."""
    functions = functions_of(module)

    def of_region(region: Region, times: int) -> Iterator[Execution]:
        for block in region.blocks:
            for op in block.ops:
                yield op, times
                inner = times
                if isinstance(op, WhileOp):
                    trips = trip_count(op)
                    inner *= 1 if trips is None else trips
                if isinstance(op, CallOp):
                    yield from of_region(functions[op.callee.string_value()].body, times)
                for each in op.regions:
                    yield from of_region(each, inner)

    yield from of_region(main_function(module).body, 1)
