"""Searches for the shardings of a program, and describes what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from time import monotonic
from typing import Any, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from sdy.advice.edits import Edit, edited
from sdy.advice.lint.annotated_text import with_module
from sdy.compile.options import CompileOptions
from sdy.compile.origin import Origin
from sdy.compile.propagated import boundary_of
from sdy.compile.written_program import WrittenProgram, is_large
from sdy.cost.allocation.buffers import aliased_results
from sdy.cost.hardware import Hardware
from sdy.cost.program_cost import ProgramCost, cost_of
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.progress import TimeUpError, note_step, stopping_at
from sdy.diagnostics.wording import similar_name_hint
from sdy.dialects.data_flow import op_of
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import make_context
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import function_result_sharding
from sdy.grammar.partition_spec import write_partition_spec
from sdy.jax.optional_jax import has_jax
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.passes.export.layers.fold_layers import has_folded_layers
from sdy.passes.run import run_passes
from sdy.report.boundary import BoundaryValue, boundary_values, returned_state
from sdy.report.explanation.value_names import ValueNames
from sdy.report.notation import read_any
from sdy.search.explanation import AlternativeSearch, PlanExplanation
from sdy.search.layered_search import LayeredSearch, folded_program
from sdy.search.plans.plan import FixedComputation, HeldMemory, LeastMemory, PlannedValue, ShardingPlan
from sdy.search.plans.xla_check import bytes_on_host
from sdy.search.search_end import SearchEnd
from sdy.search.search_request import Partition, SearchRequest, splits_axes
from sdy.search.searched_module import (
    PreparedModule,
    manual_computations,
    name_of_mesh,
    on_one_mesh,
    prepared_module,
    without_shardings,
)
from sdy.search.sharding_search import Candidate, SearchResult, ShardingSearch
from sdy.search.solutions import produced

SHARE_OF_MESHES = 0.4  # of the time, in which meshes are compared
XLA_SHARE, LEAST_XLA_SECONDS, MAX_XLA_DEVICES = 1 / 3, 10, 64  # for the compilation of a plan
MAX_PRICED_MESHES = 3  # of several meshes, those with the best solutions are partitioned


P = TypeVar("P", bound=WrittenProgram[Any])
Search = ShardingSearch | LayeredSearch


def price(program: WrittenProgram[Any], request: SearchRequest, module: ModuleOp) -> ProgramCost:
    """Partition a program with another module, which may have folded layers, and return its cost.

    The program keeps the old text, which is enough for a price: printing a module, and comparing it with the old text,
    takes as long as partitioning it.
    """
    machine, free_bytes = request.hardware, request.free_bytes
    if has_folded_layers(module):
        return folded_cost(module, machine, free_bytes, request.partition.of(program, machine).options)
    return request.partition.of(replace(program, module=module), machine).cost(machine, free_bytes)


@garbage_collection_paused()
def folded_cost(module: ModuleOp, hardware: Hardware, free_bytes: float, options: CompileOptions) -> ProgramCost:
    """Return the cost of a module after `sdy-fold-layers`, partitioned in a copy; its layers run as calls.

    A function has the same shardings in all its calls, so that the cost may differ from that of the unfolded program.
    Raises: SdyError at the first op that is unsupported.
    """
    context, copy = make_context(), copy_with_regions(module)
    propagation, partitioning = options.partitions(dedup_functions_fully=True)
    run_passes(context, copy, (*propagation, *partitioning), verify_each=False)
    mesh = boundary_of(copy).mesh
    run_passes(context, copy, [options.lowers()], verify_each=False)
    return cost_of(copy, mesh, hardware, free_bytes)


def plan_tried_in_xla(program: P, request: SearchRequest) -> ShardingPlan[P]:
    """Return the best shardings of a program, which XLA has compiled where that is affordable.

    It is for a program from JAX that is not large, with few devices: in `XLA_SHARE` of the time, if that is enough. If
    XLA sends more bytes with the plan than before, the next best one is returned with which it sends fewer.
    Raises: SdyError as `search_plan`.
    """
    end, seconds = monotonic() + request.seconds, XLA_SHARE * request.seconds
    is_from_jax = bool(program.origin.argument_names)
    if not is_from_jax or not has_jax() or is_large(program.module, as_jit=True) or seconds < LEAST_XLA_SECONDS:
        return search_plan(program, request)
    described, candidates = _candidates(program, replace(request, seconds=request.seconds - seconds))
    plan = described(candidates[0])
    is_changed = plan.arguments or plan.results or plan.inside or plan.drops_annotations
    if not is_changed or plan.mesh.device_count > MAX_XLA_DEVICES or plan.end is SearchEnd.INTERRUPT:
        return plan
    note_step("XLA compiles the program with and without the plan")
    plan = replace(plan, xla=plan.check_xla(run=False, seconds=max(LEAST_XLA_SECONDS, (end - monotonic()) / 2)))
    for candidate in candidates[1:]:
        limit = plan.xla.most_bytes if plan.xla is not None else None
        if limit is None or monotonic() > end or request.rank(plan.before) < request.rank(candidate.cost):
            break
        if candidate.cost.fits is plan.cost.fits and bytes_on_host(candidate.cost) < limit:
            other = described(candidate)
            check = other.check_xla(run=False, seconds=LEAST_XLA_SECONDS)
            plan = replace(other, xla=check) if check.most_bytes is None else plan
    return plan


def search_plan(program: P, request: SearchRequest) -> ShardingPlan[P]:
    """Return the best shardings of a program on one of the meshes of the request.

    Raises: SdyError SDY-T253 if the program has no mesh and the request neither; errors of the search.
    """
    described, candidates = _candidates(program, request)
    return described(candidates[0])


def _candidates(
    program: P, request: SearchRequest
) -> tuple[Callable[[Candidate], ShardingPlan[P]], Sequence[Candidate]]:
    """Return the candidates of the best mesh, the best one first, and a function that describes one as a plan."""
    end, is_from_jax = monotonic() + request.seconds, bool(program.origin.argument_names)
    partition = Partition.WRITTEN if is_large(program.module) else Partition.FASTEST
    if is_from_jax:  # what the user pastes are shardings of arguments and results, and XLA compiles the program
        constraints = 0 if request.constraints is None else request.constraints
        request, partition = replace(request, constraints=constraints), Partition.JIT
    request = replace(request, options=program.options, partition=partition)
    meshes = required_meshes(program.module, request.meshes)
    on_mesh = partial(_search_on, program, request, prepared_module(program.module))
    only = on_mesh(meshes[0]) if len(meshes) == 1 else None
    is_priced = only is not None and only.written is program.module  # by the search
    own = None if is_priced else _own_cost(program, request)
    searches, untried = _most_promising(meshes, on_mesh, request, end) if only is None else ([only], 0)
    found = list(_results(searches, end))
    search, result = min(found, key=lambda each: request.rank(each[1].best.cost))
    written = search.written
    before = own or result.before or price(program, request, written)
    is_same_mesh = any(mesh == search.searched.mesh for mesh in meshes_of(program.module).values())
    if is_same_mesh and not request.fixed and request.rank(before) < request.rank(result.best.cost):
        # The annotations of the user are better than those that were found.
        result = replace(result, best=Candidate((), before, result.solution), others=())
        written = program.module
    return partial(_plan, program, search, written, before, result, untried), [result.best, *result.others]


def _results(searches: Sequence[Search], end: float) -> Iterator[tuple[Search, SearchResult]]:
    """Run searches until `end`, each in an equal share of the time that is left; an interrupt ends them all."""
    for number, search in enumerate(searches):
        if number and monotonic() > end:
            break
        result = search.run(max(0.0, end - monotonic()) / (len(searches) - number))
        yield search, result
        if result.end is SearchEnd.INTERRUPT:
            break


def _search_on(program: WrittenProgram[Any], request: SearchRequest, prepared: PreparedModule, mesh: Mesh) -> Search:
    """Return the search for a program, which is also `prepared`, on one mesh."""
    start = without_shardings if request.from_scratch else on_one_mesh
    module = start(program.module, mesh)
    if request.fixed:
        module, _ = edited(module, list(_fixed(program, module, mesh, request)))
    searched = prepared.on(mesh, name_of_mesh(module, mesh))
    if request.partition is Partition.JIT:
        request = replace(request, state=_state(module, program.origin.argument_names))
    price_of = partial(price, program, request)
    has_many_ops = is_large(program.module, as_jit=request.partition is Partition.JIT)
    folded = folded_program(module) if has_many_ops else None
    if folded is None:
        return ShardingSearch(module, searched, request, price_of, has_many_ops or request.is_short)
    return LayeredSearch(folded, searched, request, price_of)


def _state(module: ModuleOp, names: Sequence[str]) -> Mapping[int, int]:
    """Return each result with dims but no annotation that is the next value of an argument, or takes its memory."""
    main = main_function(module)
    state = returned_state(boundary_values(module, names), len(main.function_type.inputs))
    for argument, result in aliased_results(main).items():
        if argument not in state.values():
            state.setdefault(result, argument)
    types = main.function_type.outputs.data
    is_free = {
        result: function_result_sharding(main, result) is None and static_shape(types[result]) for result in state
    }
    return {result: argument for result, argument in state.items() if is_free[result]}


def required_meshes(module: ModuleOp, meshes: Sequence[Mesh]) -> Sequence[Mesh]:
    """Return `meshes`, or without any the mesh of a module. Raises: SdyError SDY-T253 if the module has none."""
    found = meshes or [mesh for mesh in meshes_of(module).values() if mesh.axes][:1]
    if not found:
        hint = 'say which devices: mesh="data=4,model=2" or devices=8'
        raise SdyError(Diagnostic("SDY-T253", "the program has no mesh", hint=hint))
    return found


def _fixed(program: WrittenProgram[Any], module: ModuleOp, mesh: Mesh, request: SearchRequest) -> Iterator[Edit]:
    """Yield the annotations that the request fixes. Raises: SdyError SDY-T203 if a value does not exist."""
    main = main_function(module)
    targets: tuple[SSAValue | int, ...] = (*main.body.block.args, *range(len(main.function_type.outputs)))
    values = boundary_values(module, program.origin.argument_names)
    names = ValueNames(module, program.origin.text, program.origin.argument_names)
    known = {name: (target, value) for target, value in zip(targets, values, strict=True) for name in value.names}
    known |= {names[argument]: known[values[argument.index].name] for argument in main.body.block.args}
    mesh_name = name_of_mesh(module, mesh)
    for name, text in request.fixed.items():
        if name not in known:
            hint = similar_name_hint(name, known) or f"values: {', '.join(value.name for value in values)}"
            raise SdyError(Diagnostic("SDY-T203", f"no argument or result is called {name}", hint=hint))
        target, value = known[name]
        text = f"<@{mesh_name}, {text}>" if text.startswith("[{") else text
        sharding, _ = read_any(text, mesh, len(static_shape(value.type) or ()))
        yield Edit(target, replace(sharding, mesh=mesh_name))


def _most_promising(
    meshes: Sequence[Mesh], on_mesh: Callable[[Mesh], Search], request: SearchRequest, end: float
) -> tuple[list[Search], int]:
    """Return the searches whose cost networks have the best solutions, and the number of meshes that were not compared.

    Meshes are compared in a share of the time until `end`. The networks of meshes with few axes are small, so these
    come first; then those that split an axis of the best mesh with fewer axes.
    """
    objective, seconds = request.goal.objectives()[0], max(0.0, SHARE_OF_MESHES * (end - monotonic()))
    pending, end, longest = list(meshes), monotonic() + seconds, 0.0
    ranked: list[tuple[tuple[bool, float], Search]] = []  # the best solution first
    while pending and (not ranked or monotonic() + longest < end):
        start = monotonic()
        best: list[Mesh] = [search.searched.mesh for _, search in ranked]
        mesh = min(pending, key=lambda each: (len(each.axes), not _splits_best(each, best)))
        search = on_mesh(mesh)
        try:
            with stopping_at(end if ranked else inf):
                solution = search.networks.solve(objective, seconds / len(meshes))
        except TimeUpError:
            break
        pending.remove(mesh)
        longest = max(longest, monotonic() - start)
        if solution is not None:
            ranked.append(((solution.peak_bytes > request.free_bytes, solution.cost), search))
            ranked.sort(key=lambda each: each[0])
        elif not ranked and not pending:
            return [search], 0
    return [search for _, search in ranked[:MAX_PRICED_MESHES]], len(pending)


def _splits_best(mesh: Mesh, ranked: Sequence[Mesh]) -> bool:
    """Return whether the first mesh with fewer axes results from joining axes of `mesh`."""
    best = next((each for each in ranked if len(each.axes) < len(mesh.axes)), None)
    return best is not None and splits_axes(*([axis.size for axis in each.axes] for each in (mesh, best)))


@garbage_collection_paused()
def _plan(
    program: P,
    search: Search,
    written: ModuleOp,
    before: ProgramCost,
    result: SearchResult,
    untried_meshes: int,
    best: Candidate,
) -> ShardingPlan[P]:
    """Return the plan of a candidate, whose edits are of values of `written`, and the cost before."""
    annotated, _ = edited(written, best.edits)
    names = ValueNames(written, program.origin.text, program.origin.argument_names)
    arguments = main_function(written).body.block.args
    boundary = boundary_values(annotated, program.origin.argument_names)
    results = boundary[len(arguments) :]
    solution = result.solution or best.solution
    least = _least_memory(search, program.origin) if not best.cost.fits else None
    is_bounded = search.networks.has_all_choices and not search.request.overlap  # the network knows no overlap
    argument_names = [names[argument] for argument in arguments]
    shardings = {index: each.sharding for index, each in enumerate(boundary[: len(arguments)]) if each.sharding}
    planned = with_module(program, written, best.edits)
    sharded = [edit for edit in best.edits if not edit.is_constraint]
    return ShardingPlan(
        planned,
        planned if len(sharded) == len(best.edits) else with_module(program, written, sharded),
        with_module(program, program.module if _has_mesh(program.module) else search.written),
        search.searched.mesh,
        search.request.goal,
        before,
        best.cost,
        list(_described(argument_names, boundary[: len(arguments)])),
        list(_described([value.name for value in results], results)),
        list(_constraints(best.edits, names, program.origin)),
        list(dict.fromkeys(_fixed_computations(written, program.origin))),
        solution.gap if solution is not None and is_bounded and not least else None,
        result.tried,
        untried_meshes,
        result.end,
        result.can_shard,
        least,
        search.request.partition,
        partial(_explanation, search, shardings, argument_names),
        bool(search.request.state),
    )


def _least_memory(search: Search, origin: Origin[Any]) -> LeastMemory | None:
    """Return the memory that every sharding needs; None if that is not known to exceed the free memory."""
    found = search.networks.least_memory()
    if sum(found.values()) <= search.request.free_bytes:
        return None
    groups: dict[tuple[str, str], list[float]] = {}
    for value, size in found.items():
        shared = produced(value, search.searched.module)  # layers share it
        groups.setdefault((_source(shared, origin), str(shared.type)), []).append(size)
    held = [HeldMemory(*key, len(sizes), round(sum(sizes))) for key, sizes in groups.items()]
    values = tuple(sorted(held, key=lambda each: (-each.bytes, each.source, each.type)))
    return LeastMemory(round(sum(found.values())), values)


def _source(value: SSAValue, origin: Origin[Any]) -> str:
    """Return the line that computes a value; empty if it is unknown."""
    op = op_of(value)
    return "" if op is None else _source_of(op, origin)


def _source_of(op: Operation, origin: Origin[Any]) -> str:
    """Return the line of an op; empty if it is unknown."""
    span = span_of(op)
    return "" if span is None else origin.place(span.line)


def _explanation(
    search: Search, shardings: Mapping[int, TensorSharding], names: Sequence[str], seconds: float
) -> PlanExplanation:
    """Return what the best plans without the axes of these argument shardings cost."""
    goal = search.request.goal
    objective = goal.objectives()[0]
    solver, network = search.networks.solver(objective, seconds)
    solution = search.networks.solve(objective, seconds)
    if solution is None:
        return PlanExplanation(goal, search.searched.mesh, 0.0, ())
    alternatives = AlternativeSearch(search.searched, network, solver.priced(solution.price), solution.labels)
    choices, untried = alternatives.choices(shardings, names, seconds)
    return PlanExplanation(goal, search.searched.mesh, solution.cost, choices, untried)


def _fixed_computations(written: ModuleOp, origin: Origin[Any]) -> Iterator[FixedComputation]:
    """Yield the manual computations of a program, in program order."""
    for op in manual_computations(written):
        shardings = (op.in_shardings.data, op.out_shardings.data)
        yield FixedComputation(_source_of(op, origin), *(tuple(map(write_partition_spec, each)) for each in shardings))


def _has_mesh(module: ModuleOp) -> bool:
    """Return whether a module has a mesh of more than one device."""
    return any(mesh.axes for mesh in meshes_of(module).values())


def _own_cost(program: WrittenProgram[Any], request: SearchRequest) -> ProgramCost | None:
    """Return the cost of a program with its own annotations; None if it has no mesh or cannot be partitioned."""
    if not _has_mesh(program.module):
        return None
    try:
        return price(program, request, program.module)
    except SdyError:
        return None


def _described(names: Sequence[str], values: Sequence[BoundaryValue]) -> Iterator[PlannedValue]:
    for name, value in zip(names, values, strict=True):
        if value.sharding is not None:
            yield PlannedValue(name, str(value.type), value.sharding)


def _constraints(edits: Sequence[Edit], names: ValueNames, origin: Origin[Any]) -> Iterator[PlannedValue]:
    for edit in edits:
        if edit.is_constraint and isinstance(edit.target, SSAValue):
            source = _source(edit.target, origin)
            yield PlannedValue(names[edit.target], str(edit.target.type), edit.sharding, source)
