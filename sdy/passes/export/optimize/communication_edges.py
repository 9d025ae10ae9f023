"""Edges of the communication graph: values that loops carry, branches return, or calls pass.

Unlike the data-flow edges of propagation, an edge lists every sharding that must change together with the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from sdy.dialects.data_flow import EdgeSource, other_targets_of, sources_of
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.symbols import called_functions, functions_of, main_function
from sdy.dialects.ir.walk import blocks_of, ops_in, pre_order, reached
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import set_function_result_sharding, set_sharding
from sdy.dialects.stablehlo.control import CaseOp, ControlFlowOp, IfOp, OptimizationBarrierOp, WhileOp
from sdy.model.sharding import TensorSharding


@dataclass(frozen=True, slots=True)
class ValueEdge:
    """A value that passes through a loop, a branch or a call: its sources and its targets."""

    sources: tuple[EdgeSource, ...]
    targets: tuple[SSAValue, ...]
    result_of: tuple[FuncOp, int] | None = None  # the function, and the index of its result

    @property
    def value(self) -> SSAValue:
        """One of its values; all have the same type."""
        return self.targets[0] if self.targets else self.sources[0].value

    def set_sharding(self, sharding: TensorSharding) -> None:
        """Give the sharding to all targets of the edge."""
        for target in self.targets:
            set_sharding(target, sharding)
        if self.result_of is not None:
            set_function_result_sharding(*self.result_of, sharding)


# The ops whose regions have global tensors; a manual computation has shards, the body of a reduction has scalars.
WITH_GLOBAL_TENSORS = ModuleOp | FuncOp | ControlFlowOp


def functions_on_global_tensors(module: ModuleOp) -> dict[str, FuncOp]:
    """Return the functions that are called with global tensors only."""
    functions = functions_of(module)
    on_shards = [op for op in pre_order(module) if op.regions and not isinstance(op, WITH_GLOBAL_TENSORS)]
    local = set(reached(on_shards, lambda caller: called_functions(caller, functions)))
    return {name: func for name, func in functions.items() if func not in local}


def edges_of(module: ModuleOp, functions: Mapping[str, FuncOp]) -> Iterator[ValueEdge]:
    """Yield the edges of values in some functions. Arguments of the main function have none."""
    calls: dict[str, list[CallOp]] = {}
    for func in functions.values():
        for op in _ops_on_global_tensors(func):
            yield from _edges_of_op(op)
            if isinstance(op, CallOp):
                calls.setdefault(op.callee.root_reference.data, []).append(op)
    main = main_function(module)
    for name, func in functions.items():
        if func is not main and name in calls:
            yield from _edges_of_calls(func, calls[name])


def boundary_edges_of(module: ModuleOp) -> Iterator[ValueEdge]:
    """Yield an edge for each argument and each result of the main function."""
    main = main_function(module)
    yield from (ValueEdge((), (argument,)) for argument in main.body.block.args)
    end = terminator_of(main.body)
    yield from (ValueEdge((EdgeSource(end, index),), (), (main, index)) for index in range(len(end.operands)))


def ops_outside_manual_computations(module: ModuleOp) -> list[Operation]:
    """Return the ops of a module, functions included, without those of manual computations and of what these call."""
    functions = functions_on_global_tensors(module).values()
    return [op for func in functions for op in (func, *pre_order(func, ManualComputationOp))]


def _ops_on_global_tensors(root: Operation) -> Iterator[Operation]:
    for block in blocks_of(root):
        for op in ops_in(block):
            yield op
            if isinstance(op, WITH_GLOBAL_TENSORS):
                yield from _ops_on_global_tensors(op)


def _edges_of_op(op: Operation) -> Iterator[ValueEdge]:
    if isinstance(op, WhileOp | CaseOp | OptimizationBarrierOp):
        for owner in op.results:
            yield ValueEdge(sources_of(owner), (owner, *other_targets_of(owner)))
    elif isinstance(op, IfOp):
        for index, result in enumerate(op.results):
            yield ValueEdge(tuple(EdgeSource(terminator_of(region), index) for region in op.regions), (result,))


def _edges_of_calls(func: FuncOp, calls: Sequence[CallOp]) -> Iterator[ValueEdge]:
    for argument in func.body.block.args:
        yield ValueEdge(tuple(EdgeSource(call, argument.index) for call in calls), (argument,))
    for index in range(len(func.function_type.outputs)):
        source = EdgeSource(terminator_of(func.body), index)
        yield ValueEdge((source,), tuple(call.results[index] for call in calls), (func, index))
