"""Rules on collectives that a program could do without.

SDY-S403 finds arguments that are gathered more than once, SDY-S404 and SDY-S405 results of all-gathers and all-reduces
that are sliced again, SDY-S406 collectives that are the same in each trip of a loop, SDY-S408 constraints that change
nothing, SDY-S409 constraints with reshards before and after them, and SDY-S412 many small collectives that only wait
for latency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

from xdsl.ir import BlockArgument, Operation, SSAValue

from sdy.advice.edits import Edit, Removal
from sdy.advice.lint.finding import Candidate, Fix
from sdy.advice.lint.linted_program import LintedProgram, cost_of
from sdy.advice.lint.price import Cost
from sdy.cost.collectives import CollectiveKind
from sdy.cost.executions import Visit
from sdy.cost.schedule import CollectiveRun
from sdy.dialects.facts.traits import collective_kind, is_elementwise, passes_through
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import enclosing
from sdy.dialects.sdy.collectives import AllGatherOp, AllReduceOp, AllSliceOp, CollectiveOp
from sdy.dialects.stablehlo.control import WhileOp
from sdy.dialects.stablehlo.elementwise import ConvertOp
from sdy.dialects.stablehlo.shape import ReshapeOp, TransposeOp
from sdy.model.axis import AxisList, overlaps
from sdy.model.sharding import TensorSharding

MAX_OPS = 32  # so that the search ends early


@dataclass(frozen=True)
class Uses:
    """All uses of a value lead through elementwise ops to the collectives `ends`."""

    through: tuple[Operation, ...]
    ends: tuple[CollectiveOp, ...]

    @property
    def sharding(self) -> TensorSharding:
        """The sharding of the result of the first collective."""
        return self.ends[0].out_sharding.data


def uses_through_elementwise(value: SSAValue, is_end: Callable[[CollectiveOp], bool]) -> Uses | None:
    """Return the uses of a value if all of them lead to collectives that satisfy `is_end`; None if one does not."""
    through: list[Operation] = []
    ends: list[CollectiveOp] = []
    waiting = [value]
    while waiting:
        users = [use.operation for use in waiting.pop().uses]
        if not users or len(through) > MAX_OPS:
            return None
        for user in users:
            if user in through:
                continue
            if isinstance(user, CollectiveOp) and is_end(user):
                ends.append(user)
            elif is_elementwise(user) or passes_through(user):
                through.append(user)
                waiting += user.results
            else:
                return None
    return Uses(tuple(through), tuple(ends)) if ends else None


# SDY-S404, SDY-S405

SCATTERED = 0.5  # the share of the bytes of an all-reduce that a reduce-scatter does not send


def gathered_then_sliced(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the all-gathers of which every device uses a slice alone."""
    for op in linted.final_ops:
        if isinstance(op, AllGatherOp):
            yield from _candidates(linted, op, op.listed_axes, "SDY-S404", 1.0)


def reduced_then_sliced(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the all-reduces of which every device uses a slice alone: a reduce-scatter sends half the bytes."""
    for op in linted.final_ops:
        if isinstance(op, AllReduceOp):
            yield from _candidates(linted, op, op.reduction_axes.data, "SDY-S405", SCATTERED)


def _candidates(
    linted: LintedProgram, op: AllGatherOp | AllReduceOp, axes: AxisList, code: str, share: float
) -> Iterator[Candidate]:

    def is_slice(user: CollectiveOp) -> bool:
        return isinstance(user, AllSliceOp) and any(overlaps(*pair) for pair in product(user.listed_axes, axes))

    found = uses_through_elementwise(op.result, is_slice)
    collectives = linted.collectives_of(op)
    if found is None or not collectives:
        return
    kind, span = collectives[0].kind.value, span_of(op)
    listed = ", ".join(map(str, axes))
    yield Candidate(
        code,
        f"every device uses a slice alone of the result of the {kind} along {listed}",
        cost_of(collectives).times(share),
        list(_fixes(linted, op, found)),
        span=span,
        collectives=collectives,
        notes=tuple(line for each in collectives for line in linted.facts.causes_of(each)),
    )


def _fixes(linted: LintedProgram, op: AllGatherOp | AllReduceOp, found: Uses) -> Iterator[Fix]:
    """Yield fixes: each value on the way gets the sharding of the slice, or the constraint that gathers is removed."""
    sharding, producer = found.sharding, op.tensor.owner
    for owner in (*((producer,) if isinstance(producer, Operation) else ()), *found.through):
        for result in owner.results:
            written = linted.written.written(result)
            if written is not None and written.type == op.result.type:
                yield linted.fix(Edit(written, sharding))
    for constraint in (each for each in linted.constraints if span_of(each) == span_of(op)):
        yield from (linted.fix(Edit(constraint.result, sharding)), linted.fix(Removal(constraint.result)))


# SDY-S408, SDY-S409


def idle_constraints(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield all sharding constraints: the trial shows which of them change nothing."""
    for constraint in linted.constraints:
        name, span = linted.name(constraint.result), span_of(constraint)
        yield Candidate(
            "SDY-S408",
            f"the sharding constraint {name} changes nothing",
            Cost(),
            [linted.fix(Removal(constraint.result))],
            needs_fix=True,
            is_idle=True,
            span=span,
            subject=f"value {name}",
        )


def reshards_around_constraints(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the constraints whose operand is resharded for them, and whose result is resharded for every use."""
    last = {span_of(op): op for op in linted.final_ops if isinstance(op, CollectiveOp)}
    for constraint in linted.constraints:
        span = span_of(constraint)
        if span is None or span not in last:
            continue
        uses = uses_through_elementwise(last[span].result, lambda user: collective_kind(type(user)) is not None)
        before = tuple(each for each in linted.facts.collectives if each.span == span)
        after = () if uses is None else tuple(each for end in uses.ends for each in linted.collectives_of(end))
        if uses is None or not before or not after:
            continue
        name = linted.name(constraint.result)
        changes = (Removal(constraint.result), Edit(constraint.result, uses.sharding))
        yield Candidate(
            "SDY-S409",
            f"the operand of the constraint {name} is resharded for it, and its result is resharded for every use",
            cost_of((*before, *after)),
            [linted.fix(change) for change in changes],
            span=span,
            collectives=(*before, *after),
            subject=f"value {name}",
            notes=tuple(map(str, (*before, *after))),
        )


# SDY-S403


def repeated_gathers(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the arguments that are gathered along the same axes by several ops."""
    gathers: dict[tuple[SSAValue, frozenset[str]], list[AllGatherOp]] = {}
    for op in linted.final_ops:
        if isinstance(op, AllGatherOp):
            root = _root(op.tensor)
            written = linted.written.written(root)
            if isinstance(root, BlockArgument) and root.owner is linted.final_main.body.block and written is not None:
                axes = frozenset(axis.name for axis in op.listed_axes)
                gathers.setdefault((written, axes), []).append(op)
    for (written, axes), ops in gathers.items():
        if len(ops) > 1:
            yield from _repeated(linted, written, axes, ops)


def _root(value: SSAValue) -> SSAValue:
    """Return the value that another one has the data of."""
    while isinstance(value.owner, ConvertOp | ReshapeOp | TransposeOp | CollectiveOp):
        value = value.owner.operands[0]
    return value


def _repeated(
    linted: LintedProgram, written: SSAValue, axes: frozenset[str], ops: list[AllGatherOp]
) -> Iterator[Candidate]:
    costs = [cost_of(linted.collectives_of(op)) for op in ops]
    dearest = max(range(len(ops)), key=lambda index: costs[index].bytes_sent)
    repeated = [costs[index] for index in range(len(ops)) if index != dearest]
    name, span = linted.name(written), linted.span(written)
    fixes = [_constrained(linted, written, op.out_sharding.data) for op in ops[:1] if op.result.type == written.type]
    listed = ", ".join(f'"{axis}"' for axis in sorted(axes))
    yield Candidate(
        "SDY-S403",
        f"{name} is gathered {len(ops)} times along {listed}",
        reduce(Cost.plus, repeated),
        fixes,
        span=span,
        collectives=tuple(each for op in ops for each in linted.collectives_of(op)),
        subject=f"boundary {name}",
        notes=tuple(str(each) for op in ops for each in linted.collectives_of(op)),
    )


def _constrained(linted: LintedProgram, value: SSAValue, sharding: TensorSharding) -> Fix:
    return linted.fix(Edit(value, sharding, keeps_annotation=True))


# SDY-S406


def unchanged_in_loops(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the collectives in loops whose operand is the same in every trip."""
    for op in linted.final_ops:
        loop = enclosing(op, WhileOp) if collective_kind(type(op)) else None
        if loop is None or not is_unchanged(op.operands[0], loop):
            continue
        collectives = linted.collectives_of(op)
        runs = max((each.runs for each in collectives), default=1)
        if runs < 2:
            continue
        span = span_of(op)
        yield Candidate(
            "SDY-S406",
            f"the {collectives[0].kind.value} has the same operand in each of {runs} trips of the loop",
            cost_of(collectives).times(1 - 1 / runs),
            list(_hoisted(linted, op, loop)),
            span=span,
            collectives=collectives,
            notes=tuple(line for each in collectives for line in linted.facts.causes_of(each)),
        )


def is_unchanged(value: SSAValue, loop: WhileOp) -> bool:
    """Return whether a value that the body of a loop reads is the same in every trip."""
    body = loop.body.block
    seen: set[SSAValue] = set()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if each in seen or not body.is_ancestor(each.owner):
            continue
        seen.add(each)
        if isinstance(each, BlockArgument):
            terminator = body.last_op
            if each.owner is not body or terminator is None or terminator.operands[each.index] is not each:
                return False
        else:
            op = each.owner
            assert isinstance(op, Operation)
            is_moved = isinstance(op, ReshapeOp | TransposeOp | CollectiveOp)
            is_followed = is_moved or is_elementwise(op) or passes_through(op)
            if op.regions or not is_followed:
                return False
            waiting += op.operands
    return True


def _hoisted(linted: LintedProgram, op: Operation, loop: WhileOp) -> Iterator[Fix]:
    """Yield the fix that reshards the initial value of the operand before the loop."""
    assert isinstance(op, CollectiveOp)
    root = _root(op.tensor)
    while (
        isinstance(root.owner, Operation) and loop.body.block.is_ancestor(root.owner) and len(root.owner.operands) == 1
    ):
        root = _root(root.owner.operands[0])
    if isinstance(root, BlockArgument) and root.owner is loop.body.block:
        root = _root(loop.operands[root.index])
    written = linted.written.written(root)
    if written is not None and written.type == op.result.type:
        yield _constrained(linted, written, op.out_sharding.data)


# SDY-S412

MANY = 8  # collectives of one kind and along the same axes
Runs = Sequence[tuple[Visit, CollectiveRun]]


def many_small_collectives(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield one candidate for the kinds of collectives that run often, and each time only wait for latency."""
    groups = {key: runs for key, runs in _latency_bound(linted).items() if _count(runs) >= MANY}
    if not groups:
        return
    total, visits = sum(map(_count, groups.values())), [visit for runs in groups.values() for visit, _ in runs]
    after_the_loop = ", or communicate after the loop" if any(each.times > 1 for each in visits) else ""
    yield Candidate(
        "SDY-S412",
        f"{total} collectives are so small that they only wait for latency",
        Cost(seconds=sum(_avoidable_seconds(runs) for runs in groups.values())),
        span=span_of(visits[0].op),
        subject="latency",
        notes=(
            *(_described(kind, axes, runs) for (kind, axes), runs in groups.items()),
            f"one collective of all their data waits once: stack the tensors{after_the_loop}",
        ),
    )


def _count(runs: Runs) -> int:
    return sum(visit.times for visit, _ in runs)


def _latency_bound(linted: LintedProgram) -> dict[tuple[CollectiveKind, AxisList], list[tuple[Visit, CollectiveRun]]]:
    groups: dict[tuple[CollectiveKind, AxisList], list[tuple[Visit, CollectiveRun]]] = {}
    for slot in linted.facts.schedule:
        run = slot.work
        if isinstance(run, CollectiveRun) and run.is_latency_bound and not slot.visit.is_left:
            groups.setdefault((run.kind, run.axes), []).append((slot.visit, run))
    return groups


def _avoidable_seconds(runs: Runs) -> float:
    """Return the seconds of all runs but the longest one."""
    return sum(visit.times * run.seconds for visit, run in runs) - max(run.seconds for _, run in runs)


def _described(kind: CollectiveKind, axes: AxisList, runs: Runs) -> str:
    count = _count(runs)
    average = sum(visit.times * run.bytes_sent for visit, run in runs) / count
    along = ", ".join(map(str, axes))
    return f"{count} {kind.value}s along {along}, {round(average):,} bytes each on average"
