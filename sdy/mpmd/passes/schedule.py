"""Order the fragments of each mesh by a schedule or by rules, and repeat forward fragments before backward ones.

Source: docs/spec/08, 3.3, 3.6 and 3.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError, Severity
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import ancestor_in, ops_of, reached
from sdy.mpmd.dialect.functions import is_mpmd
from sdy.mpmd.dialect.ops import CALL_COUNTER
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.passes.tools.fragments import (
    REMAT,
    add_control_dependency,
    fragments_of,
    info_of,
    is_backward,
    is_forward,
    merge,
    next_on_mesh,
    remove_control_dependencies,
    schedulable_meshes,
    scheduling_units,
)
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.uses import (
    cycle_in,
    positions_in,
    replace_uses_by,
    sort_block,
    users_of_op,
)
from sdy.mpmd.schedules.builtin import Before, TotalOrder, Unit, schedule_named
from sdy.mpmd.schedules.fragment_info import FragmentInfo, ScheduleRule, parse_schedule_rules
from sdy.passes.rewriting.insertion import insert_before


class _Paths:
    """The dependencies between the ops of a block, by uses and by control dependencies that are added.

    As in Shardy, a path to an op that passes an op after it in program order is not found.
    """

    def __init__(self, func: FuncOp) -> None:
        self._block = func.body.block
        self._positions = positions_in(self._block)
        self._successors: dict[Operation, set[Operation]] = {op: set() for op in self._positions}
        for op in self._positions:
            self._successors[op].update(ancestor_in(self._block, user) for user in users_of_op(op))

    def add(self, first: FragmentOp, second: FragmentOp) -> None:
        """Add a control dependency to the program and to the paths."""
        add_control_dependency(first, second)
        self._successors[first].add(second)

    def exists(self, source: Operation, target: Operation) -> bool:
        """Return whether there is a path, no op of which is after the target."""
        limit = self._positions[target]
        return target in reached(
            [source], lambda op: [each for each in self._successors[op] if self._positions[each] <= limit]
        )


@dataclass(frozen=True)
class PipelineSchedulerPass(FunctionPass):
    """Order the scheduling units of each mesh by a schedule: one of Shardy's, or one that lists all units in order."""

    name = "mpmd-pipeline-scheduler"
    ON = is_mpmd

    must_happen_before: str = "1F1B"
    remove_control_dependencies: bool = True

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Add the dependencies of the schedule, and sort the function."""
        schedule = schedule_named(self.must_happen_before)
        if isinstance(schedule, TotalOrder):
            _order_totally(func, schedule)
        else:
            _order_pairs(func, schedule)
        if self.remove_control_dependencies:
            remove_control_dependencies(func)


def _order_pairs(func: FuncOp, before: Before) -> None:
    """Order each pair of units of a mesh that the data does not order."""
    units = scheduling_units(func)
    mesh_count = len(schedulable_meshes(func))
    paths = _Paths(func)
    for first, unit in units.items():
        for second, other in units.items():
            if first is second or unit.mesh != other.mesh or not before(unit, other, mesh_count):
                continue
            if not paths.exists(first, second) and not paths.exists(second, first):
                paths.add(first, second)
    sort_block(func.body.block)


def _order_totally(func: FuncOp, schedule: TotalOrder) -> None:
    """Order the units of each mesh one after the other. Raises: SdyError SDY-M402 if meshes wait for each other."""
    mesh_count = len(schedulable_meshes(func))
    by_mesh: dict[str, dict[Unit, list[FragmentOp]]] = {}
    for fragment, unit in scheduling_units(func).items():
        by_mesh.setdefault(unit.mesh, {}).setdefault(unit, []).append(fragment)
    pairs: list[tuple[FragmentOp, FragmentOp]] = []
    for fragments in by_mesh.values():
        ordered = [each for unit in schedule.ordered(list(fragments), mesh_count) for each in fragments[unit]]
        pairs += pairwise(ordered)
    _order(func, pairs)


def order_by(func: FuncOp, before: Callable[[FragmentInfo, FragmentInfo], bool]) -> None:
    """Order the units of each mesh by a function of what is known of two of them: whether the first runs first.

    Raises: SdyError SDY-M402 if what the function says contradicts the data, or itself.
    """
    infos = {fragment: info_of(fragment) for fragment in scheduling_units(func)}
    pairs = [
        (first, second)
        for first, info in infos.items()
        for second, other in infos.items()
        if first is not second and info.mesh == other.mesh and before(info, other)
    ]
    _order(func, pairs)
    remove_control_dependencies(func)


def _order(func: FuncOp, pairs: Iterable[tuple[FragmentOp, FragmentOp]]) -> None:
    for first, second in pairs:
        add_control_dependency(first, second)
    if sort_block(func.body.block):
        return
    cycle = [op for op in cycle_in(func.body.block) if isinstance(op, FragmentOp)]
    message = f"the schedule deadlocks: {len(cycle)} fragments wait for each other"
    notes = tuple(Note(f"{info_of(each)} waits for the next", span_of(each)) for each in cycle[:MOST_NOTES])
    remove_control_dependencies(func)
    raise SdyError(Diagnostic("SDY-M402", message, span_of(func), notes=notes))


MOST_NOTES = 8  # of the fragments of a cycle


@dataclass(frozen=True)
class RuleBasedSchedulePass(FunctionPass):
    """Order fragments by rules of the user."""

    name = "mpmd-rule-based-schedule"
    ON = is_mpmd

    rules: str = ""
    remove_control_dependencies: bool = True

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Add the dependencies of all rules, and sort the function."""
        fragments: dict[FragmentInfo, FragmentOp] = {}
        for fragment in ops_of(func, FragmentOp):
            info = info_of(fragment)
            if fragment.is_user_fragment and fragments.setdefault(info, fragment) is not fragment:
                message = f"two fragments have the same info, {info}"
                findings.error(func, "SDY-M102", message, "give the named computations different names")
        paths = _Paths(func)
        for rule in parse_schedule_rules(self.rules):
            _apply(rule, fragments, paths, findings, func)
        if not sort_block(func.body.block):
            message = "a cycle: not all fragments can be ordered as the rules say"
            findings.warn(func, "SDY-M105", message, Severity.REMARK)
        if self.remove_control_dependencies:
            remove_control_dependencies(func)


def _apply(
    rule: ScheduleRule, fragments: dict[FragmentInfo, FragmentOp], paths: _Paths, findings: Findings, func: FuncOp
) -> None:
    """Order each fragment of a rule after the one before it, where data and earlier rules allow it."""
    previous = rule.ordered[0]
    for info in rule.ordered[1:]:
        first, second = fragments.get(previous), fragments.get(info)
        if first is None or second is None:
            missing = previous if first is None else info
            findings.warn(func, "SDY-M105", f"no fragment has the info {missing}, which a rule names", Severity.REMARK)
            previous = info if first is None else previous
            continue
        if first is not second and first.mesh != second.mesh:
            message = f"a rule orders {previous} and {info}, which are on different meshes"
            findings.warn(func, "SDY-M105", message, Severity.REMARK)
        elif first is not second and not paths.exists(first, second):
            if paths.exists(second, first):
                message = f"a rule orders {previous} before {info}, on which it depends"
                findings.warn(func, "SDY-M105", message, Severity.REMARK)
            else:
                paths.add(first, second)
        previous = info


@dataclass(frozen=True)
class RematFragmentPass(FunctionPass):
    """Compute the results of a forward fragment again for its backward fragment, instead of keeping them."""

    name = "mpmd-remat-fragment"

    merge_remat_fragments: bool = False

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Insert a copy of each forward fragment right before a backward fragment that does not follow at once."""
        for forward in [each for each in fragments_of(func) if is_forward(each)]:
            positions = positions_in(func.body.block)
            users = {user for user in users_of_op(forward) if isinstance(user, FragmentOp)}
            for backward in sorted(users, key=positions.__getitem__):
                if _needs_copy(forward, backward):
                    self._repeat(forward, backward)

    def _repeat(self, forward: FragmentOp, backward: FragmentOp) -> None:
        copy = insert_before(backward, copy_with_regions(forward))
        copy.location = forward.location
        for result, again in zip(forward.results, copy.results, strict=True):
            replace_uses_by(result, again, [backward])
        if self.merge_remat_fragments:
            kept = {REMAT: UnitAttr(), CALL_COUNTER: backward.attributes[CALL_COUNTER]}
            merge(copy, backward, kept)
        else:
            copy.attributes[REMAT] = UnitAttr()


def _needs_copy(forward: FragmentOp, backward: FragmentOp) -> bool:
    counters = forward.call_counter, backward.call_counter
    return (
        is_backward(backward)
        and counters[0] is not None
        and counters[0] == counters[1]
        and forward.stage == backward.stage
        and next_on_mesh(forward) is not backward
    )
