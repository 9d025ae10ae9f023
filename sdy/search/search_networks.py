"""The cost networks of a program for the objectives of one search, with what the user annotated kept."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue

from sdy.dialects.ir.symbols import main_function
from sdy.dialects.shardings import argument_sharding, function_result_sharding
from sdy.model.sharding import TensorSharding
from sdy.partitioner.layout_search.layout import Atoms, Layout
from sdy.passes.export.optimize.communication_edges import ValueEdge
from sdy.search.goal import Goal
from sdy.search.memory import LeastMemory
from sdy.search.program_network import ProgramNetwork
from sdy.search.search_request import SearchRequest
from sdy.search.searched_module import SearchedModule
from sdy.search.solutions import Solution, Solver
from sdy.search.transfer_costs import Objective, TransferCosts


class SearchNetworks:
    """The networks of `searched`, which is `written` by the user with annotations that stay."""

    def __init__(self, written: ModuleOp, searched: SearchedModule, request: SearchRequest) -> None:
        self._written = written
        self._searched = searched
        self._request = request
        self._transfers = TransferCosts(searched.graph.atoms, request.hardware)
        self._solvers: dict[Objective, tuple[Solver, ProgramNetwork]] = {}

    @property
    def free_bytes(self) -> float:
        """The memory within which solutions are searched: none if memory is what counts."""
        return 0.0 if self._request.goal is Goal.MEMORY else self._request.free_bytes

    def solve(self, objective: Objective, seconds: float) -> Solution | None:
        """Return the best solution of the cost network alone, which compares meshes without partitioning."""
        solver, _ = self.solver(objective)
        return solver.solve(self.free_bytes, seconds)

    def least_memory(self) -> LeastMemory:
        """Return the bytes that a device needs under every sharding that the search knows; 0 if it needed no bound."""
        solver, _ = self.solver(self._request.goal.objectives()[0])
        return solver.least_memory()

    def solver(self, objective: Objective) -> tuple[Solver, ProgramNetwork]:
        """Return the cost network for an objective, with its solver."""
        if objective not in self._solvers:
            searched, hardware = self._searched, self._request.hardware
            network = ProgramNetwork(searched.module, searched.graph, self._transfers, hardware, objective)
            self._pin(network)
            self._solvers[objective] = Solver(searched, network), network
        return self._solvers[objective]

    def _pin(self, network: ProgramNetwork) -> None:
        """Keep the annotations of arguments and results: closed dims as they are, open ones with these axes first."""
        atoms, main = self._searched.graph.atoms, main_function(self._written)
        for node, op in enumerate(self._searched.graph.ops):
            if not isinstance(op, ValueEdge) or (op.sources and op.targets):
                continue
            if op.targets:
                sharding = argument_sharding(main, _index(op.targets[0]))
            else:
                assert op.result_of is not None  # an edge without targets is that of a result
                sharding = function_result_sharding(main, op.result_of[1])
            if sharding is not None:
                network.pin(node, lambda layout, sharding=sharding: _agrees(layout, sharding, atoms))


def _index(value: SSAValue) -> int:
    assert isinstance(value, BlockArgument)
    return value.index


def _agrees(layout: Layout, sharding: TensorSharding, atoms: Atoms) -> bool:
    """Return whether a layout keeps a sharding; open dims may be sharded further."""
    for own, dim in zip(layout.dims, sharding.dims, strict=True):
        required = atoms.split(dim.axes)
        if required is None or (own != required if dim.is_closed else own[: len(required)] != required):
            return False
    replicated = atoms.split(sharding.replicated) or ()
    return not any(atom in replicated for dim in layout.dims for atom in dim)
