"""Rules on collectives that repeat work: SDY-S403 (gathered more than once) and SDY-S406 (unchanged in a loop)."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from sdy.advice.edits import Edit
from sdy.advice.lint.finding import Candidate, Fix
from sdy.advice.lint.linted_program import LintedProgram, cost_of
from sdy.advice.lint.uses import fix_of
from sdy.dialects.facts.traits import collective_kind, is_elementwise, passes_through
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.sdy.collectives import AllGatherOp, CollectiveOp
from sdy.dialects.stablehlo.control import WhileOp
from sdy.dialects.stablehlo.elementwise import ConvertOp
from sdy.dialects.stablehlo.shape import ReshapeOp, TransposeOp
from sdy.model.sharding import TensorSharding

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
    name, span = linted.names.name(written), linted.names.span(written)
    fixes = [_constrained(linted, written, op.out_sharding.data) for op in ops[:1] if op.result.type == written.type]
    total = repeated[0]
    for each in repeated[1:]:
        total = total.plus(each)
    listed = ", ".join(f'"{axis}"' for axis in sorted(axes))
    yield Candidate(
        "SDY-S403",
        f"{name} is gathered {len(ops)} times along {listed}",
        total,
        fixes,
        span=span,
        collectives=tuple(each for op in ops for each in linted.collectives_of(op)),
        subject=f"boundary {name}",
        notes=tuple(str(each) for op in ops for each in linted.collectives_of(op)),
    )


def _constrained(linted: LintedProgram, value: SSAValue, sharding: TensorSharding) -> Fix:
    edit = Edit(value, sharding, keeps_annotation=True)
    return fix_of(linted, edit)


# SDY-S406


def unchanged_in_loops(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the collectives in loops whose operand is the same in every trip."""
    for op in linted.final_ops:
        loop = _loop_around(op) if collective_kind(type(op)) else None
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


def _loop_around(op: Operation) -> WhileOp | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, WhileOp):
        parent = parent.parent_op()
    return parent


def is_unchanged(value: SSAValue, loop: WhileOp) -> bool:
    """Return whether a value that the body of a loop reads is the same in every trip."""
    body = loop.body.block
    seen: set[SSAValue] = set()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if each in seen or not _is_inside(each, body):
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


def _is_inside(value: SSAValue, body: Block) -> bool:
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent_block()
    while block is not None and block is not body:
        parent = block.parent_op()
        block = None if parent is None else parent.parent_block()
    return block is body


def _hoisted(linted: LintedProgram, op: Operation, loop: WhileOp) -> Iterator[Fix]:
    """Yield the fix that reshards the initial value of the operand before the loop."""
    assert isinstance(op, CollectiveOp)
    root = _root(op.tensor)
    while isinstance(root.owner, Operation) and _is_inside(root, loop.body.block) and len(root.owner.operands) == 1:
        root = _root(root.owner.operands[0])
    if isinstance(root, BlockArgument) and root.owner is loop.body.block:
        root = _root(loop.operands[root.index])
    written = linted.written.written(root)
    if written is not None and written.type == op.result.type:
        yield _constrained(linted, written, op.out_sharding.data)
