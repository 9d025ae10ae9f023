"""Proves that a local program computes the same as the global one: walk both, and compare their results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.diagnostics.progress import stage
from sdy.dialects.facts.traits import ComputesBy, is_elementwise, terminator_of
from sdy.dialects.ir.op_location import span_of, user_code_error_at
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import block_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.types import TokenType
from sdy.evidence.local_program import check_local_program, check_recursion
from sdy.evidence.proof.control import placed_like
from sdy.evidence.proof.factors import attributes_of, batched, by_rule, elementwise
from sdy.evidence.proof.known import as_view
from sdy.evidence.proof.lemmas import LEMMAS
from sdy.evidence.proof.offsets import Offset
from sdy.evidence.proof.outcome import Proof
from sdy.evidence.proof.readings import moved_readings, plain_readings
from sdy.evidence.proof.relations import Known, NotProvedError, Partial, Relation, Unknown, View, dim_of
from sdy.evidence.proof.reshapes import cleaned
from sdy.evidence.proof.shards import argument, bases, contributions_of
from sdy.evidence.proof.structured import compute, known_operands
from sdy.evidence.proof.terms import Shape, TermTable
from sdy.evidence.proof.walk import Lemma, Walk, element_of, named, shape_of
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement
from sdy.model.rule import OpShardingRule


class Border(NamedTuple):
    """A value of the local program that is, on each device, the shard of a value of the program that a placement says.

    Both are values of the main functions.
    """

    value: SSAValue
    of: SSAValue
    placement: TensorPlacement


class Lemmas(NamedTuple):
    """The outcome of the lemmas, given borders, and the borders that they need.

    `unrelated` has the values of the main function that are not windows of values of the program, and from which
    results follow that are not proved.
    """

    proof: Proof
    crossed: tuple[Border, ...]
    unrelated: tuple[SSAValue, ...]


def prove_by_lemmas(
    written: ModuleOp, local: ModuleOp, boundary: ProgramPlacement, borders: Sequence[Border] = ()
) -> Lemmas:
    """Return the ops for which lemmas show that the local program computes the same as the global one, for any size.

    The shardings of arguments and results are those of the boundary. Borders are taken as they say, where no lemma
    holds. Raises: SdyError SDY-V004 if the local program cannot be that of a device, SDY-T115 if a function of one of
    them calls itself; see `check_local_program`.
    """
    check_recursion(written)
    check_local_program(local, boundary)
    devices, table = max(1, boundary.mesh.device_count), TermTable()
    main, local_main = main_function(written), main_function(local)
    global_walk = Walk(devices, table, LEMMAS, lemma_of_own_op)
    whole_arguments = [named(each, number, table, "argument") for number, each in enumerate(main.body.block.args)]
    with stage("terms of the program"):
        expected = global_walk.run(written, main, whole_arguments)
    walk = Walk(devices, table, LEMMAS, lemma_of_own_op)
    walk.borders = {each.value: relation for each in borders if (relation := _at_border(walk, each, global_walk))}
    table.is_recording = False
    placed = zip(local_main.body.block.args, boundary.arguments, strict=True)
    arguments = [_local_argument(number, *each, devices, table) for number, each in enumerate(placed)]
    with stage("proof"):
        found = walk.run(local, local_main, arguments)
    reasons: dict[str, list[int]] = {}
    returned = terminator_of(local_main.body).operands
    for number, (relation, wanted, placement) in enumerate(zip(found, expected, boundary.results, strict=True)):
        reason = _difference(walk, returned[number], relation, wanted, placement)
        if reason is not None:
            reasons.setdefault(reason, []).append(number)
    span = span_of(local_main)
    differences = [Diagnostic("SDY-V003", _of_results(*each), span) for each in reasons.items()]
    wrong = [returned[number] for numbers in reasons.values() for number in numbers]
    walk.unproved.update(each.owner for each in wrong if isinstance(each.owner, Operation))
    if differences:  # the ops because of which loops keep no relation of a carried value are named too
        walk.reasons = {**walk.reasons, **walk.lost, **walk.reasons}
    texts = ("SDY-V001", "{} is not proved: {}", walk), ("SDY-V002", "the global {} is not supported: {}", global_walk)
    failures = [
        Diagnostic(code, text.format(op.name, reason), span_of(op))
        for code, text, each in texts
        for op, reason in each.reasons.items()
    ]
    used = tuple(sorted(walk.used.items()))
    proved = len(walk.reached) - len(walk.unproved)
    proof = Proof(used, len(walk.reached), proved, (*failures, *differences))
    crossed = tuple(each for each in borders if each.value in walk.crossed)
    return Lemmas(proof, crossed, tuple(_unrelated(walk, local_main.body.block, wrong)))


def _at_border(walk: Walk, border: Border, global_walk: Walk) -> Relation | None:
    """Return the relation of the local value of a border; None if that of the program has none."""
    wanted, shape = global_walk.environment[border.of], shape_of(border.value)
    if not isinstance(wanted, View | Known):
        return None
    try:
        return _target(walk, shape, wanted, bases(border.placement, shape, walk.devices))[1]
    except NotProvedError:
        return None


def _unrelated(walk: Walk, block: Block, wrong: Sequence[SSAValue]) -> Iterator[SSAValue]:
    """Yield values that are not proved, and those in the same block that they follow from and that have no relation."""
    pending, seen = list(wrong), set[SSAValue](wrong)
    while pending:
        value = pending.pop()
        op = value.owner
        if not isinstance(op, Operation):
            continue
        yield value
        for each in (operand for inner in op.walk() for operand in inner.operands):
            if each not in seen and block_of(each) is block and walk.is_open(walk.environment[each]):
                seen.add(each)
                pending.append(each)


def _local_argument(
    number: int, value: SSAValue, placement: TensorPlacement, devices: int, table: TermTable
) -> Relation:
    """Return the relation of an argument of the local program to the global one, unknown if it is not its shard."""
    shape = static_shape(value.type)
    if shape is None or 0 in shape:  # a token, say
        return Unknown(shape_of(value))
    try:
        return argument(number, placement, shape, element_of(value), devices, table)
    except NotProvedError:
        return Unknown(shape_of(value))


def _of_results(reason: str, numbers: Sequence[int]) -> str:
    """Return that some results are not proved, all for one reason."""
    if len(numbers) == 1:
        return f"result {numbers[0]} is not proved: {reason}"
    reason = f"each{reason.removeprefix('it')}" if reason.startswith("it ") else reason
    return f"results {', '.join(map(str, numbers))} are not proved: {reason}"


def _difference(
    walk: Walk, value: SSAValue, relation: Relation, wanted: Relation, placement: TensorPlacement
) -> str | None:
    """Return why a local result is not the shard of the global one, or None."""
    if 0 in relation.shape or isinstance(value.type, TokenType):
        return None  # it has no elements
    if static_shape(value.type) is None:
        return f"expected a tensor of static shape, got {value.type}"
    if isinstance(relation, Unknown):
        return "it follows from ops that are not proved"
    if not isinstance(wanted, View | Known):
        return "the global program has ops that are not supported"
    try:
        tables, partial = bases(placement, relation.shape, walk.devices), contributions_of(placement)
    except NotProvedError as error:
        return str(error)
    try:
        return _mismatch(walk, relation, *_target(walk, relation.shape, wanted, tables), partial)
    except NotProvedError as error:
        return str(error)


def _target(walk: Walk, shape: Shape, wanted: View | Known, tables: Sequence[Offset]) -> tuple[View, View]:
    """Return the plain view of a result of the program, and the window of it that the local value must be.

    Raises: NotProvedError if the result has no plain view.
    """
    walk.table.is_recording = True
    try:
        target = cleaned(as_view(wanted, walk.table), walk.table)
    finally:
        walk.table.is_recording = False
    base: list[Offset] = [0 if not isinstance(each, int) else each for each in target.base]
    for dim, digits in enumerate(target.dims):
        if dim_of(digits) >= 0:
            base[dim_of(digits)] = tables[dim]
    sizes = zip(target.dims, shape, strict=True)
    dims = tuple(tuple(each._replace(size=size) for each in digits[:1]) for digits, size in sizes)
    return target, replace(target, base=tuple(base), dims=dims)


def _mismatch(walk: Walk, relation: Relation, target: View, goal: View, partial: Partial | None) -> str | None:
    if not isinstance(relation, View | Known):
        return f"expected elements of {target.term}"
    own = relation.partial if isinstance(relation, View) else None
    if own != partial:
        return f"expected an all-reduce before it: it is a partial {own.kind}" if own else "expected a partial value"
    if isinstance(relation, View):
        relation = replace(relation, partial=None)
    for view in _readings(walk, relation, target, goal):
        if view.term is target.term:
            for one, other in zip(view.dims, target.dims, strict=True):
                if dim_of(one) != dim_of(other):
                    return "its dims are permuted"
            if view.base != goal.base:
                return f"expected windows from {goal.base}, got {view.base}"
            return None
    return f"it is {relation.term if isinstance(relation, View) else 'known'}, not {target.term}"


def _readings(walk: Walk, relation: View | Known, target: View, guess: View) -> list[View]:
    if isinstance(relation, Known):
        return [placed_like(walk, relation, guess)]
    found = plain_readings(relation, walk.table)
    for each in (relation, found[0]):
        for other in moved_readings(each, walk.table):
            if other.term is target.term:
                found.append(cleaned(other, walk.table))
    return found


KNOWN_DIALECTS = frozenset({"builtin", "chlo", "func", "sdy", "stablehlo"})


def lemma_of_own_op(op: Operation) -> Lemma | None:
    """Return the lemma of an op of a dialect that the proof does not know; None for other ops."""
    return None if op.dialect_name() in KNOWN_DIALECTS else _own_op


def _own_op(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: an op without effects is a function of its operands and attributes; an elementwise one of elements.

    Its sharding rule is not trusted: other dims than those of an elementwise op must be whole, unless the op has the
    trait `ComputesBy`.
    """
    if op.regions or not is_side_effect_free(op):
        raise NotProvedError(f"the proof only supports ops like {op.name} that have no regions and the trait `Pure`")
    others = sorted((name, each) for name, each in op.attributes.items() if not name.startswith(("sdy.", "mhlo.")))
    attributes = (attributes_of(op), tuple(others))
    known = known_operands(operands)
    if is_elementwise(op):
        return compute(walk, op, replace(elementwise(op), attributes=attributes), known)
    stated = type(op).get_trait(ComputesBy)
    factors = batched(op, (), attributes) if stated is None else by_rule(_rule_of(op, stated), attributes)
    return compute(walk, op, factors, known)


def _rule_of(op: Operation, stated: ComputesBy) -> OpShardingRule:
    try:
        return stated.lemma(op)
    except Exception as error:  # the code of the user may raise anything
        hint = "fix the function that the trait ComputesBy has"
        raise user_code_error_at(op, "SDY-R102", f"the lemma of {op.name}", error, hint) from error
