"""Checks that a sharding fits its mesh and the value that it belongs to.

S1 to S14 and V1 to V3 number the rules. Each function returns the first problem, as a diagnostic without a location, in
the order in which Shardy checks. Source: docs/spec/01, 4.4 and 4.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.diagnostics.wording import counted
from sdy.model.axis import AxisList, overlaps
from sdy.model.axis_list import lists_overlap, set_difference, sharded_size
from sdy.model.checks.check_mesh import AxisUse
from sdy.model.checks.first_problem import Problems, first_problem
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.shape import Shape, Shapeless, ValueShape
from sdy.model.sharding import ReductionKind, TensorSharding


@lru_cache(maxsize=65536)
@first_problem
def check_sharding(
    sharding: TensorSharding,
    shape: ValueShape,
    mesh: Mesh | None,
    manual_axes: frozenset[str] = frozenset(),
    *,
    allow_uneven: bool = False,
) -> Problems:
    """Return the first of S1 to S14 that the sharding violates for a value of `shape`; None if it is valid.

    `mesh` is what the sharding's mesh resolves to, None if its name is not defined. `manual_axes` are those of all
    enclosing manual computations.
    """
    if mesh is None:
        message = f"mesh @{sharding.mesh} is not defined"
        yield Diagnostic("SDY-S001", message, hint="define it with `sdy.mesh` in this module")
    elif mesh.is_maximal or (shape is Shapeless.NO_VALUE and sharding.is_fully_replicated):
        value = "a value on one device" if mesh.is_maximal else Shapeless.NO_VALUE.value
        yield from _check_bare(sharding, "SDY-S002", value)
    elif shape is Shapeless.TUPLE:
        yield Diagnostic("SDY-S003", f"{shape.value} must not have a sharding")
    elif shape is Shapeless.NOT_SHAPED:
        yield from _check_bare(sharding, "SDY-S004", shape.value)
    elif isinstance(shape, Shapeless):
        yield Diagnostic("SDY-S005", f"{shape.value} must not have a sharding")
    else:
        if sharding.rank != len(shape):
            yield Diagnostic("SDY-S006", f"expected a sharding of {counted(len(shape), 'dim')}, got {sharding.rank}")
        yield from _check_axes(sharding, shape, mesh, allow_uneven)
        for ref in sharding.axis_refs():
            if ref.name in manual_axes:
                yield Diagnostic("SDY-S014", f"axis {ref} is a manual axis of an enclosing manual computation")


def _check_bare(sharding: TensorSharding, code: str, value: str) -> Problems:
    """Check S2 and S4: the sharding has neither dims nor axes."""
    if sharding.dims or sharding.replicated or sharding.unreduced:
        actual = counted(sharding.rank, "dim") if sharding.dims else "replicated or unreduced axes"
        message = f"the sharding of {value} must have no dims and no axes, got {actual}"
        yield Diagnostic(code, message, hint="write `[]` for the dims, and no axes")


def _check_axes(sharding: TensorSharding, shape: Shape, mesh: Mesh, allow_uneven: bool) -> Problems:
    """Check S7 to S13: priorities, axes and divisibility of the dims, then the other axes."""
    use = AxisUse(mesh)
    for index, (dim, size) in enumerate(zip(sharding.dims, shape, strict=True)):
        if dim.priority is not None and dim.priority < 0:
            yield Diagnostic("SDY-S007", f"the priority of dim {index} must not be negative, got {dim.priority}")
        if dim.priority is not None and dim.is_closed and not dim.axes:
            message = f"dim {index} is closed and has no axes, so it must have no priority, got {dim.priority}"
            yield Diagnostic("SDY-S008", message)
        yield from use.add(dim.axes, f"dim {index}")
        if not allow_uneven and size is not None and size % (count := sharded_size(dim.axes, mesh)):
            yield Diagnostic("SDY-S010", f"dim {index} of size {size} is not divisible into {count} shards")
    yield from use.add_sorted(sharding.replicated, "the replicated axes")
    yield from use.add_sorted(sharding.unreduced, "the unreduced axes")
    yield from use.check_sub_axes()


def check_per_value(
    shardings: Sequence[TensorSharding],
    shapes: Sequence[ValueShape],
    meshes: MeshTable,
    manual_axes: frozenset[str] = frozenset(),
) -> tuple[int | None, Diagnostic] | None:
    """Check V1 to V3: there is one sharding per value, and each fits its value.

    Return the first problem, with the index of the value if it concerns one of several. Without values, a single
    sharding that assigns the op to a device is allowed.
    """
    if not shapes and len(shardings) == 1:
        mesh = resolve_mesh(shardings[0].mesh, meshes)
        if shardings[0].is_fully_replicated or (mesh is not None and mesh.is_maximal):
            problem = check_sharding(shardings[0], Shapeless.NO_VALUE, mesh, manual_axes, allow_uneven=True)
            return None if problem is None else (None, problem)
    if len(shardings) != len(shapes):
        return None, Diagnostic(
            "SDY-S022", f"expected {counted(len(shapes), 'sharding')}, one per value, got {len(shardings)}"
        )
    for index, (sharding, shape) in enumerate(zip(shardings, shapes, strict=True)):
        mesh = resolve_mesh(sharding.mesh, meshes)
        problem = check_sharding(sharding, shape, mesh, manual_axes, allow_uneven=True)
        if problem is not None:
            return (index if len(shapes) > 1 else None), problem
    return None


@first_problem
def check_unreduced_transition(
    operands: Sequence[TensorSharding],
    results: Sequence[TensorSharding],
    meshes: MeshTable,
    *,
    introduced_by: ReductionKind | None,
    removed_by: ReductionKind | None,
) -> Problems:
    """Return the first violated rule about the change of unreduced axes from operands to results; None if there is
    none.

    The op may make axes unreduced by the kind `introduced_by` and combine them by the kind `removed_by`; None means
    that it may not. Axes that stay unreduced must keep their kind. Shardings on different meshes are not compared.

    Source: docs/spec/01, 3.8.
    """
    distinct_meshes = {resolve_mesh(sharding.mesh, meshes) for sharding in (*operands, *results)}
    mesh = distinct_meshes.pop() if len(distinct_meshes) == 1 else None
    if mesh is None:
        return
    before, after = _unreduced(operands), _unreduced(results)
    introduced, removed = set_difference(after, before, mesh), set_difference(before, after, mesh)
    yield from _check_kinds(introduced, results, introduced_by, "become unreduced")
    yield from _check_kinds(removed, operands, removed_by, "stop being unreduced")
    for result, operand in product(results, operands):
        if operand.unreduced_kind is not result.unreduced_kind:
            for ref in result.unreduced:
                if any(overlaps(ref, other) for other in operand.unreduced):
                    kinds = f"from `{operand.unreduced_kind.value}` to `{result.unreduced_kind.value}`"
                    yield Diagnostic("SDY-D246", f"axis {ref} stays unreduced, but its reduction kind changes {kinds}")


def _unreduced(shardings: Sequence[TensorSharding]) -> AxisList:
    return tuple(ref for sharding in shardings for ref in sharding.unreduced)


def _check_kinds(
    axes: AxisList, shardings: Sequence[TensorSharding], kind: ReductionKind | None, change: str
) -> Problems:
    listed = ", ".join(map(str, axes))
    if axes and kind is None:
        yield Diagnostic("SDY-D244", f"axes {listed} {change}, which this op must not do")
    for sharding in shardings:
        if kind is not None and sharding.unreduced_kind is not kind and lists_overlap(sharding.unreduced, axes):
            found = sharding.unreduced_kind.value
            yield Diagnostic("SDY-D245", f"axes {listed} {change} by `{kind.value}`, but the sharding has `{found}`")
