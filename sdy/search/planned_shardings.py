"""The shardings of a program that a solution of its cost network stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import make_context
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import argument_sharding, function_result_sharding, set_sharding, sharding_of
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.layout_search.layout import Layout
from sdy.passes.export.layers.unfold_layers import UnfoldLayersPass
from sdy.passes.export.optimize.communication_edges import ValueEdge, ops_outside_manual_computations
from sdy.passes.run import run_passes
from sdy.report.explanation.counterparts import Counterparts
from sdy.search.program_network import ProgramNetwork
from sdy.search.searched_module import SearchedModule


@dataclass(frozen=True, slots=True)
class PlannedShardings:
    """The shardings of the arguments and results of a program, and of values inside, by value of the user's program."""

    arguments: tuple[TensorSharding | None, ...]
    results: tuple[TensorSharding | None, ...]
    inside: dict[SSAValue, TensorSharding]


@garbage_collection_paused()
def planned_shardings(
    written: ModuleOp, searched: SearchedModule, network: ProgramNetwork, labels: Sequence[int]
) -> PlannedShardings:
    """Return the shardings that the labels stand for. `written` is the module of the user.

    A value of the user's program whose copies differ, as in a function that is called with different shardings, has no
    entry. Nor has one that the search did not see, or that is a result of a manual computation or inside of one.
    """
    module = _annotated(searched, network, labels)
    main, own = main_function(module), main_function(written)
    counterparts = Counterparts(written, module)
    inside: dict[SSAValue, TensorSharding] = {}
    for op in ops_outside_manual_computations(written):
        if isinstance(op, ManualComputationOp):
            continue
        for result in op.results:
            copies = {sharding_of(value) for value in counterparts.transformed(result)}
            sharding = copies.pop() if len(copies) == 1 else None
            if sharding is not None:
                inside[result] = sharding
    types = own.function_type
    return PlannedShardings(
        tuple(argument_sharding(main, index) for index in range(len(types.inputs))),
        tuple(function_result_sharding(main, index) for index in range(len(types.outputs))),
        inside,
    )


def _annotated(searched: SearchedModule, network: ProgramNetwork, labels: Sequence[int]) -> ModuleOp:
    """Return a copy of the searched module with the shardings that the labels stand for, and with layers unfolded.

    The searched module gets the shardings too, which the next solution replaces.
    """
    graph = searched.graph

    def sharding(layout: Layout) -> TensorSharding:
        return TensorSharding(searched.mesh_name, tuple(DimSharding(graph.digits.join(dim)) for dim in layout.dims))

    for node, op in enumerate(graph.ops):
        if isinstance(op, ValueEdge):
            op.set_sharding(sharding(network.op_layouts[node][labels[node]].layouts[0]))
            continue
        for result in op.results:
            layout = network.layout_for_users(result, labels)
            if layout is not None:
                set_sharding(result, sharding(layout))
    module = copy_with_regions(searched.module)
    run_passes(make_context(), module, [UnfoldLayersPass()], verify_each=False)
    return module
