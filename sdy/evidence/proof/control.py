"""Lemmas of loops and branches: a loop is a joint relation of its carried values, which one iteration keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, OpResult, SSAValue

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.stablehlo.control import WhileOp
from sdy.evidence.proof.compute import Computation, computed
from sdy.evidence.proof.factors import Factors
from sdy.evidence.proof.known import as_view
from sdy.evidence.proof.readings import likeliest
from sdy.evidence.proof.relations import (
    Digit,
    Digits,
    Known,
    NotProvedError,
    Relation,
    Unknown,
    View,
    dim_of,
    is_plain,
    tidy,
)
from sdy.evidence.proof.terms import Term
from sdy.evidence.proof.walk import UNCHANGED, Walk, element_of, known_or_view, shape_of

MOST_ROUNDS = 4


def call(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a call computes what its function does."""
    return walk.call(cast("CallOp", op), operands)


def branches(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a branch on equal conditions chooses equal values, if all branches give the same windows.

    If the condition is known, it gives those of the branch that is taken.
    """
    condition = operands[0]
    if isinstance(condition, Known) and condition.is_uniform:
        return walk.region(op.regions[_taken(op, int(condition.rows[0, 0]))], ())
    found = [walk.region(region, ()) for region in op.regions]
    if not op.results:
        return []
    index = as_view(known_or_view(condition), walk.table)
    if index.term.is_varying:
        raise NotProvedError("a branch whose condition depends on the device")
    results: list[Relation] = []
    for number, result in enumerate(op.results):
        values = [each[number] for each in found]
        if any(isinstance(each, Unknown) for each in values):
            results.append(Unknown(shape_of(result)))
            continue
        shape, dims = shape_of(result), tuple(range(len(shape_of(result))))
        factors = Factors(((), *(dims,) * len(values)), (dims,), frozenset(dims), None)
        work = Computation("branch", factors, (shape,), (element_of(result),), walk.devices)
        results += computed(work, [index, *map(known_or_view, values)], walk.table)
    return results


def _taken(op: Operation, number: int) -> int:
    """Return the branch that is taken: the last one for an index that is out of bounds."""
    if op.name == "stablehlo.if":
        return 0 if number else 1
    return number if 0 <= number < len(op.regions) else len(op.regions) - 1


def loop(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a loop keeps the relations of its carried values, after any number of iterations, if each iteration does.

    A value that the body returns as it is stays outside of the loop.
    """
    assert isinstance(op, WhileOp)
    returned, arguments = terminator_of(op.body).operands, op.body.block.args
    kept = [number for number, each in enumerate(returned) if _unchanged(each) is arguments[number]]
    carried = [number for number in range(len(operands)) if number not in kept]
    guesses = {number: _guess(walk, operands[number]) for number in carried}
    for _ in range(MOST_ROUNDS):
        state = walk.state()
        variables = {
            number: replace(guess, term=walk.variable(position, guess.term)) if isinstance(guess, View) else guess
            for position, (number, guess) in enumerate(guesses.items())
        }
        carried_in = [variables.get(number, operands[number]) for number in range(len(operands))]
        condition = walk.region(op.cond, carried_in)[0]
        found = walk.region(op.body, carried_in)
        after = {number: _placed(walk, found[number], guesses[number]) for number in carried}
        if all(_is_kept(guesses[number], after[number]) for number in carried):
            return _results(walk, operands, carried, guesses, after, condition)
        cause = next((each for each in walk.reasons.items() if each[0] not in state.reasons), None)
        walk.restore(state)
        before = guesses
        guesses = {number: _next_guess(walk, guesses[number], found[number], after[number]) for number in carried}
        for number in carried:
            if isinstance(guesses[number], Unknown) and not isinstance(before[number], Unknown):
                walk.lost.setdefault(*(cause or (op, _lost(number, before[number], after[number]))))
    raise NotProvedError("no relation of the carried values is kept by an iteration")


def _lost(number: int, before: Relation, after: Relation) -> str:
    """Return why a carried value has no relation that an iteration keeps."""
    return f"expected an iteration to keep carried value {number}, which is {_text(before)}; got {_text(after)}"


def _text(relation: Relation) -> str:
    """Return a relation in words, with the starts of its windows on the first devices."""
    if not isinstance(relation, View):
        return "unknown"
    starts = [start if isinstance(start, int) else start[:8] for start in relation.base]
    return f"windows of {relation.term} from {starts}"


def _unchanged(value: SSAValue) -> SSAValue:
    """Return the value that a value is, through ops that return their operands."""
    while isinstance(value, OpResult) and value.op.name in UNCHANGED:
        value = value.op.operands[value.index]
    return value


def _guess(walk: Walk, relation: Relation) -> Relation:
    """Return the relation of a carried value before the loop, as a view if it is the same on all devices."""
    if not isinstance(relation, View | Known):
        return Unknown(relation.shape)
    view = likeliest(as_view(relation, walk.table), walk.table)
    if view.partial is not None or view.term.is_varying:
        raise NotProvedError("expected a carried value that is neither partial nor depends on the device")
    return view


def _placed(walk: Walk, found: Relation, guess: Relation) -> Relation:
    """Return what the body computes, with the windows of the guess if the value is known or repeated."""
    if isinstance(guess, Unknown) or isinstance(found, Unknown):
        return Unknown(found.shape)
    assert isinstance(guess, View)
    return placed_like(walk, found, guess)


def placed_like(walk: Walk, found: View | Known, guess: View) -> View:
    """Return a value as a plain view; where it repeats and the guess has a dim of the term, it is spread over that."""
    view = as_view(found, walk.table) if isinstance(found, Known) else likeliest(found, walk.table)
    if view.partial is not None or view.term.is_varying:
        raise NotProvedError("expected a value that is neither partial nor depends on the device")
    return _spread_like(walk, view, guess)


def _spread_like(walk: Walk, view: View, guess: View) -> View:
    """Return the view with a dim of the term for each local dim that repeats but has windows in the guess."""
    arrangement, shape, base, dims = list[int](), list[int](), list[int | tuple[int, ...]](), list[Digits]()
    is_changed = False
    for digits, wanted in zip(view.dims, guess.dims, strict=True):
        dim, other = dim_of(digits), dim_of(wanted)
        if dim < 0 <= other:
            is_changed = True
            arrangement.append(-1)
            dims.append((Digit(wanted[0].size, len(shape), 1),))
            shape.append(guess.term.shape[other])
            base.append(guess.base[other])
        elif dim >= 0:
            arrangement.append(dim)
            dims.append((Digit(digits[0].size, len(shape), 1),))
            shape.append(view.term.shape[dim])
            base.append(view.base[dim])
        else:
            dims.append(digits)
    in_order = [each for each in arrangement if each >= 0] == list(range(len(view.base)))
    if not is_changed and in_order:
        return view
    term = walk.table.make("spread", tuple(arrangement), (view.term,), tuple(shape), view.term.element)
    return replace(view, term=term, base=tuple(base), dims=tidy(dims))


def _is_kept(guess: Relation, after: Relation) -> bool:
    if isinstance(guess, Unknown) or isinstance(after, Unknown):
        return isinstance(guess, Unknown)
    assert isinstance(guess, View)
    assert isinstance(after, View)
    return (guess.term.shape, guess.base, guess.dims) == (after.term.shape, after.base, after.dims)


def _next_guess(walk: Walk, guess: Relation, found: Relation, after: Relation) -> Relation:
    """Return a guess with the windows of what the body computes, for a value that repeats before the loop."""
    if isinstance(after, Unknown) or isinstance(guess, Unknown) or _is_kept(guess, after):
        return after if isinstance(after, Unknown) else guess
    assert isinstance(guess, View)
    assert isinstance(after, View)
    if not is_plain(after) or any(
        dim_of(one) >= 0 > dim_of(other) for one, other in zip(guess.dims, after.dims, strict=True)
    ):
        return Unknown(found.shape)
    spread = _spread_like(walk, guess, after)
    return spread if _is_kept(spread, after) else Unknown(found.shape)


def _results(
    walk: Walk,
    operands: Sequence[Relation],
    carried: Sequence[int],
    guesses: dict[int, Relation],
    after: dict[int, Relation],
    condition: Relation,
) -> list[Relation]:
    """Return the relations after the loop; the term of each is the loop on all carried values."""
    if isinstance(condition, Unknown):
        raise NotProvedError("the condition of the loop is not proved")
    test = as_view(known_or_view(condition), walk.table)
    if test.term.is_varying or test.partial is not None:
        raise NotProvedError("the condition of the loop depends on the device")
    terms: list[Term] = [test.term]
    proved = [number for number in carried if not isinstance(guesses[number], Unknown)]
    pairs = {
        carried.index(number): (cast("View", guesses[number]).term, cast("View", after[number]).term)
        for number in proved
    }
    _require_same_iterations(walk, test.term, pairs)
    for pair in pairs.values():
        terms += pair
    results = list(operands)
    for number in carried:
        guess = guesses[number]
        if isinstance(guess, Unknown):
            results[number] = guess
            continue
        assert isinstance(guess, View)
        position = carried.index(number)
        attributes = (position, tuple(carried.index(each) for each in proved))
        term = walk.table.make("while", attributes, tuple(terms), guess.term.shape, guess.term.element)
        results[number] = replace(guess, term=term)
    return results


def _require_same_iterations(walk: Walk, test: Term, carried: Mapping[int, tuple[Term, Term]]) -> None:
    """Raise NotProvedError unless the loop ends when one of the program does, given carried values before and after.

    Values that the loop does not change would be proved otherwise even if it never ended.
    """
    needed: dict[int, tuple[Term, Term]] = {}
    pending, seen = [test], set[Term]()
    while pending:
        term = pending.pop()
        if term in seen:
            continue
        seen.add(term)
        pending += term.operands
        if term.op == "variable":
            level, position = cast("tuple[int, int]", term.attributes)
            if level == walk.level and position in carried:
                needed[position] = carried[position]
                pending.append(carried[position][1])
    positions = tuple(sorted(needed))
    terms = (test, *(term for position in positions for term in needed[position]))
    iterations = walk.table.make("iterations", positions, terms, (), "i1")
    if not walk.table.is_global(iterations):
        raise NotProvedError("no loop of the program is known to have as many iterations")
