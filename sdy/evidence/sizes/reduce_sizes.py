"""Reduces the sizes of a program and of its local program by the same map."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.facts.traits import is_elementwise, passes_through
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.verification.verify_module import verify_module
from sdy.evidence.sizes.connections import keep_aligned, lock_unshared, parts_of_wholes, related_classes
from sdy.evidence.sizes.devices import SmallerMesh, smaller_mesh
from sdy.evidence.sizes.index_values import IndexValues, are_aligned, mapped, needed_size, numbers_of, of_shards
from sdy.evidence.sizes.links import tie_boundary, tie_same_lines
from sdy.evidence.sizes.ops.all import TABLE
from sdy.evidence.sizes.rewrite import Numbers, rewritten
from sdy.evidence.sizes.size_classes import NoSizesError, SizeClasses, Variable
from sdy.evidence.sizes.solver import Solver
from sdy.evidence.sizes.ties import Ties, by_rule
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement

MESH_SIZES = (2, 4)  # that are tried for the axes of the mesh


@dataclass(frozen=True, slots=True)
class SizeChange:
    """A class of dims: its size before and after, how many dims of both programs have it, and why it was kept."""

    before: int
    after: int
    dims: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ReducedPrograms:
    """A program and its local program in smaller sizes, and how the sizes changed."""

    written: ModuleOp
    local: ModuleOp
    boundary: ProgramPlacement
    changes: tuple[SizeChange, ...]


@garbage_collection_paused()
def reduce_sizes(
    written: ModuleOp, local: ModuleOp, boundary: ProgramPlacement, *, reduce_mesh: bool = True
) -> ReducedPrograms:
    """Return both programs in the smallest sizes that keep their structure.

    If nothing distinguishes further devices, and `reduce_mesh` is set, a few devices stay along each axis of the mesh.
    Raises: SdyError SDY-X152 if the sizes of an op are unknown before a run.
    """
    least = _least_devices(local)
    for most in (max(least, each) for each in MESH_SIZES) if reduce_mesh else ():
        mesh = smaller_mesh(written, local, boundary, most)
        if mesh is None:
            break
        try:
            return _reduced(written, local, boundary, mesh)
        except NoSizesError:
            continue  # more devices stay
    return _reduced(written, local, boundary, SmallerMesh())


def _least_devices(local: ModuleOp) -> int:
    """Return how many devices must stay along an axis: three if a reduction combines elements by several ops.

    Of two shards, it uses the combination only as a result: what later steps read of it makes no difference.
    """
    reductions = (op for op in pre_order(local) if isinstance(op, ReduceOp))
    return 3 if any(len(op.body.block.ops) > 2 for op in reductions) else 2


def _reduced(written: ModuleOp, local: ModuleOp, boundary: ProgramPlacement, mesh: SmallerMesh) -> ReducedPrograms:
    classes = SizeClasses()
    values = IndexValues(classes)
    modules = (written, SmallerMesh()), (local, mesh)
    programs = [_ties_of(module, classes, values, number, each) for number, (module, each) in enumerate(modules)]
    tie_boundary(programs[0], programs[1], written, local, boundary)
    tie_same_lines(programs[0], programs[1])
    values.tie_equal_dims()
    lock_unshared(classes)
    keep_aligned(classes)
    while True:
        sizes, changes = Solver(classes).solve(), classes.changes
        constants = _new_constants(values, classes, sizes, boundary.mesh.device_count, mesh)
        if constants is not None:
            break
        if classes.changes == changes:
            raise NoSizesError("a constant has no value that fits the sizes")

    def new_size(variable: Variable) -> int:
        return sizes[classes.root(variable)]

    small = [
        rewritten(module, ties, new_size, constants) for module, ties in zip((written, local), programs, strict=True)
    ]
    for module in small:
        verify_module(module)
    return ReducedPrograms(
        small[0], small[1], _small_boundary(boundary, small[0], mesh), _changes(classes, sizes, programs)
    )


def _ties_of(module: ModuleOp, classes: SizeClasses, values: IndexValues, program: int, mesh: SmallerMesh) -> Ties:
    ties = Ties(classes, program, functions_of(module), values, mesh)
    for op in pre_order(module):
        if isinstance(op, FuncOp):
            for value in op.body.block.args if op.body.blocks else ():
                ties.of(value)
            continue
        if type(op) in TABLE:
            TABLE.get(op, ties)
        elif is_elementwise(op):
            by_rule(op, ties)
        elif passes_through(op):
            ties.all_same(op.operands, op.results)
        elif op.regions or any(as_tensor(each.type) is None for each in (*op.operands, *op.results)):
            message = f"a program with {op.name} cannot be reduced"
            raise SdyError(Diagnostic("SDY-X152", message, span_of(op)))
        else:
            ties.lock_all(op)
    ties.tie_device_parts()
    return ties


def _new_constants(
    values: IndexValues, classes: SizeClasses, sizes: Mapping[Variable, int], devices: int, mesh: SmallerMesh
) -> dict[Operation, Numbers] | None:
    """Return the new numbers of constants that are positions; None after a class was locked or made larger."""
    found: dict[Operation, dict[float, float]] = defaultdict(dict)
    used: dict[Operation, set[Variable]] = defaultdict(set)
    related = related_classes(classes)
    wholes = parts_of_wholes(classes, related)
    others_too = values.other_numbers()
    is_solved = True
    for op, dims, is_start in values.constants():
        roots = {classes.root(dim) for dim in dims}
        anchors = tuple(sorted({(classes.sizes[root], sizes[root]) for root in roots} | _unit_of(op, mesh)))
        others = {other for root in roots for other in related.get(root, ())}
        exact = tuple((classes.sizes[root], sizes[root]) for root in others)
        parts = {part for root in roots for part in wholes.get(root, ())}
        used[op] |= roots
        numbers = mesh.tables[op].offsets if op in mesh.tables else numbers_of(op)
        stays = is_start and any(old == new > 1 for old, new in anchors)
        if is_start:
            anchors, exact = of_shards(numbers, anchors, exact)
        if is_start and not are_aligned(numbers, [old for old, _ in anchors]) and any(a != b for a, b in anchors):
            is_solved = False
            _lock(roots, "windows start at other positions than shards do", op, classes)
            continue
        # With fewer devices, only tables know which shard becomes which.
        shards = None if is_start or mesh.before == mesh.after else 1
        for number in numbers:
            new = mapped(number, anchors, devices, exact, shards)
            # In a shard, the size of a part of its dim is probably where that part ends.
            ends = () if is_start else (sizes[each] for each in parts if classes.sizes[each] == number)
            if new not in (None, number) and stays:
                is_solved = False
                _lock(roots, f"windows that start at {number:g} also start in a dim that stays as large", op, classes)
            elif new not in (None, number) and op in others_too:
                is_solved = False
                _lock(roots, f"the constant {number:g} is also a number of something else", op, classes)
            elif new is None or any(end != new for end in ends):
                is_solved = False
                _keep(roots | others | parts, number, op, classes, sizes)
            elif found[op].setdefault(number, new) != new:
                is_solved = False
                _lock(used[op], f"the constant {number:g} is a position along several dims", op, classes)
    return dict(found) if is_solved else None


def _unit_of(op: Operation, mesh: SmallerMesh) -> set[tuple[int, int]]:
    """Return the size of a shard, which stays 1, for a table of offsets of such shards."""
    return {(1, 1)} if op in mesh.tables and mesh.tables[op].extent == 1 else set()


def _keep(
    roots: Iterable[Variable], number: float, op: Operation, classes: SizeClasses, sizes: Mapping[Variable, int]
) -> None:
    """Make the dims of a constant larger, so that an offset fits, or keep their sizes."""
    smallest = min(roots, key=lambda root: classes.sizes[root])
    needed = needed_size(number, classes.sizes[smallest])
    if needed is not None and sizes[smallest] < min(needed, classes.sizes[smallest]):
        classes.raise_least(smallest, needed)
        return
    _lock(roots, f"the constant {number:g} is a position along it", op, classes)


def _lock(roots: Iterable[Variable], reason: str, op: Operation, classes: SizeClasses) -> None:
    span = span_of(op)
    for root in roots:
        classes.lock(root, reason if span is None else f"{reason} (line {span.line})")


def _small_boundary(boundary: ProgramPlacement, written: ModuleOp, mesh: SmallerMesh) -> ProgramPlacement:
    boundary = _on_mesh(boundary, mesh)
    main = main_function(written)

    def placed(placements: tuple[TensorPlacement, ...], types: Iterable[object]) -> tuple[TensorPlacement, ...]:
        shapes = [() if (tensor := as_tensor(each)) is None else tensor.get_shape() for each in types]  # pyright: ignore
        return tuple(replace(each, shape=tuple(shape)) for each, shape in zip(placements, shapes, strict=True))

    inputs, outputs = main.function_type.inputs, main.function_type.outputs
    return replace(boundary, arguments=placed(boundary.arguments, inputs), results=placed(boundary.results, outputs))


def _on_mesh(boundary: ProgramPlacement, mesh: SmallerMesh) -> ProgramPlacement:
    arguments = tuple(replace(each, mesh=mesh.of(each.mesh)) for each in boundary.arguments)
    results = tuple(replace(each, mesh=mesh.of(each.mesh)) for each in boundary.results)
    return ProgramPlacement(mesh.of(boundary.mesh), arguments, results)


def _changes(classes: SizeClasses, sizes: Mapping[Variable, int], programs: Iterable[Ties]) -> tuple[SizeChange, ...]:
    counts: dict[Variable, int] = defaultdict(int)
    for ties in programs:
        for dims in ties.dims.values():
            for dim in dims:
                counts[classes.root(dim)] += 1
    changes = [
        SizeChange(classes.sizes[root], sizes[root], count, classes.lock_reason(root))
        for root, count in counts.items()
        if classes.sizes[root] > 1
    ]
    return tuple(sorted(changes, key=lambda each: (-each.before, -each.dims)))
