"""Make functions of the layers of a network: what comes several times in a row is partitioned once.

    before  func @main { %1 = dot %x, %a  %2 = tanh %1  %3 = dot %2, %b  %4 = tanh %3  %5 = dot %4, %c  %6 = tanh %5 }
    after   func @main { %2 = call @layer(%x, %a)  %4 = call @layer(%2, %b)  %6 = call @layer(%4, %c) }
            func private @layer(%p, %w) attributes {sdy.layer} { %1 = dot %p, %w  %2 = tanh %1  return %2 }

Only stretches that are equal op by op are folded, with all their shardings and with those of what they use. Where a
layer begins is chosen so that few values go from one to the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, FunctionType, LocationAttr, ModuleOp, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue, Use
from xdsl.passes import ModulePass

from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import op_and_nested_ops, ops_in
from sdy.dialects.shardings import (
    result_shardings,
    set_argument_sharding,
    set_function_result_sharding,
    set_result_shardings,
    set_sharding,
    sharding_of,
)
from sdy.partitioner.layers.repetition import LEAST_COUNT, Periodic, longest_periodic
from sdy.passes.export.layers.structural_hash import OpLooks, used_from_outside, uses_inside
from sdy.passes.rewriting.insertion import erase_run, insert_before
from sdy.passes.rewriting.op_order import forget_order
from sdy.passes.rewriting.unique_names import UniqueNames

LAYER = "sdy.layer"  # on functions that were made here
LOCATIONS = "sdy.locations"  # of all ops of a layer: on its function those of the first one, on each call its own

Place = tuple[int, int]  # a result of a layer: the number of the op, and which of its results
Slot = Place | None  # the result of the same layer that is used; None for what comes from outside


@dataclass(frozen=True)
class FoldLayersPass(ModulePass):
    """Turn what repeats into calls of a function, where that makes the module shorter by `least_saved` ops."""

    name = "sdy-fold-layers"

    least_ops: int = 16  # of a layer
    least_saved: int = 256

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Look at each function body, again and again until nothing repeats any more."""
        names, looks = UniqueNames(op), OpLooks()
        for func in functions_of(op).values():
            if len(func.body.blocks) == 1 and self._fold_all(func.body.block, op, names, looks):
                forget_order(op)

    def _fold_all(self, block: Block, module: ModuleOp, names: UniqueNames, looks: OpLooks) -> bool:
        ops = ops_in(block)
        entries = [looks.of(each) for each in ops]
        is_folded = False
        while (part := longest_periodic(entries, self.least_ops)) and part.saved >= self.least_saved:
            layers = _layers(ops, part)
            if layers is not None:
                module.body.block.add_op(_fold(layers, names.new("layer")))
                is_folded = True
            # What is folded, or cannot be, is like nothing else from now on.
            entries[part.start : part.end] = [-1 - place for place in range(part.start, part.end)]
        return is_folded


@dataclass(frozen=True, slots=True)
class _Layers:
    """Stretches of a block that do the same: their ops, what each uses from outside, and which results leave it."""

    stretches: Sequence[Sequence[Operation]]
    parameters: Sequence[tuple[SSAValue, ...]]  # one value for each stretch
    places: Sequence[Sequence[int]]  # for each op, the parameters that its uses from outside are; -1 for its own
    returned: Sequence[tuple[int, int]]  # op and result


def _layers(ops: Sequence[Operation], part: Periodic) -> _Layers | None:
    """The layers of a periodic part; the first or last one may be unlike the others in what it uses."""
    start = _best_start(ops, part)
    count = (part.end - start) // part.period
    stretches = [ops[start + number * part.period :][: part.period] for number in range(count)]
    for trimmed in (stretches, stretches[1:], stretches[:-1], stretches[1:-1]):
        if len(trimmed) >= LEAST_COUNT and (layers := _checked(trimmed)) is not None:
            return layers
    return None


def _best_start(ops: Sequence[Operation], part: Periodic) -> int:
    """Where to cut: of the places in the first period the one over which the fewest values go into the next layer."""
    numbers = {op: number for number, op in enumerate(ops[part.start : part.end])}
    over = [0] * (part.period + 1)
    for number in range(part.period, 2 * part.period):
        users = (numbers.get(use.operation, -1) for result in ops[part.start + number].results for use in result.uses)
        last = max((user for user in users if user - number < part.period), default=-1)
        for place in range(number + 1, last + 1):
            over[place % part.period] += 1
    shifts = range(min(part.period, part.end - part.start - LEAST_COUNT * part.period + 1))
    return part.start + min(shifts, key=lambda shift: (over[shift], shift))


def _checked(stretches: Sequence[Sequence[Operation]]) -> _Layers | None:
    """What the stretches have in common; None where they use their own results differently."""
    first = stretches[0]
    own = [(number, index) for number, op in enumerate(first) for index in range(len(op.results))]
    slots, values = zip(*(_inputs(stretch, own) for stretch in stretches), strict=True)
    if any(each != slots[0] for each in slots):
        return None
    parameters = dict.fromkeys(zip(*values, strict=True))
    if any(len({sharding_of(value) for value in parameter}) > 1 for parameter in parameters):
        return None
    number_of = {parameter: number for number, parameter in enumerate(parameters)}
    from_outside = iter(zip(*values, strict=True))
    places = [[-1 if slot else number_of[next(from_outside)] for slot in of_op] for of_op in slots[0]]
    uses_within = Counter(slot for of_op in slots[0] for slot in of_op)
    counts = [uses_within[place] for place in own]
    leaving = {number for stretch in stretches for number in _leaving(stretch, counts)}
    returned = [own[number] for number in sorted(leaving)]
    return _Layers(stretches, tuple(parameters), places, returned) if returned else None


def _inputs(stretch: Sequence[Operation], places: Sequence[Place]) -> tuple[list[list[Slot]], list[SSAValue]]:
    """Which of its own results, which are at `places`, the ops of a stretch use, and which values from outside."""
    made = dict(zip(map(id, _results(stretch)), places, strict=True))
    used = [used_from_outside(op) for op in stretch]
    slots: list[list[Slot]] = [list(map(made.get, map(id, of_op))) for of_op in used]
    return slots, [value for of_op in used for value in of_op if id(value) not in made]


def _leaving(stretch: Sequence[Operation], counts: Sequence[int]) -> list[int]:
    """The numbers of the results that are used outside of a stretch: more often than inside, where `counts` says."""
    pairs = enumerate(zip(_results(stretch), counts, strict=True))
    return [number for number, (result, count) in pairs if result.uses.get_length() > count]


def _results(stretch: Sequence[Operation]) -> list[OpResult]:
    return [result for op in stretch for result in op.results]


# Writing


def _fold(layers: _Layers, name: str) -> FuncOp:
    """Replace the stretches by calls; the function that they call."""
    calls = [_call(layers, number, name) for number in range(len(layers.stretches))]
    first, *others = layers.stretches
    _set_shardings(calls, _returned(layers, first))
    own = {each for op in first for each in op_and_nested_ops(op)}
    for value, result in zip(_returned(layers, first), calls[0].results, strict=True):
        value.replace_uses_with_if(result, lambda use: use.operation not in own)
    for stretch, call in zip(others, calls[1:], strict=True):
        erase_run(stretch)  # what uses its results now is outside
        for value, result in zip(_returned(layers, stretch), call.results, strict=True):
            replace_uses(value, result)
    return _function(layers, name)


def _returned(layers: _Layers, stretch: Sequence[Operation]) -> list[OpResult]:
    return [stretch[number].results[index] for number, index in layers.returned]


def _call(layers: _Layers, number: int, name: str) -> CallOp:
    """The call in the place of one stretch, right before it."""
    stretch = layers.stretches[number]
    call = CallOp.create(
        operands=[parameter[number] for parameter in layers.parameters],
        result_types=[result.type for result in _returned(layers, stretch)],
        properties={"callee": SymbolRefAttr(name)},
        attributes={LOCATIONS: _locations(stretch)},
    )
    insert_before(stretch[0], call)
    return call


def _function(layers: _Layers, name: str) -> FuncOp:
    """A function with the ops of the first stretch."""
    first = layers.stretches[0]
    values = [parameter[0] for parameter in layers.parameters]
    results = _returned(layers, first)
    block = Block(arg_types=[value.type for value in values])
    uses = [(use, place) for op, of_op in zip(first, layers.places, strict=True) for use, place in _uses(op, of_op)]
    for op in first:
        op.detach()
        block.add_op(op)
    for use, place in uses:
        use.operation.operands[use.index] = block.args[place]
    end = ReturnOp.create(operands=results)
    block.add_op(end)
    func = FuncOp.create(
        properties={
            "sym_name": StringAttr(name),
            "function_type": FunctionType.from_lists([each.type for each in values], [each.type for each in results]),
            "sym_visibility": StringAttr("private"),
        },
        attributes={LAYER: UnitAttr(), LOCATIONS: _locations(first)},
        regions=[Region(block)],
    )
    func.location = end.location = first[0].location
    for index, value in enumerate(values):
        sharding = sharding_of(value)
        if sharding is not None:
            set_argument_sharding(func, index, sharding)
    for index, result in enumerate(results):
        sharding = sharding_of(result)
        if sharding is not None:
            set_function_result_sharding(func, index, sharding)
    return func


def _uses(op: Operation, places: Sequence[int]) -> Iterator[tuple[Use, int]]:
    """The uses of an op of what is a parameter, each with its number."""
    uses = [*(Use(op, index) for index in range(len(op.operands))), *uses_inside(op)]
    return ((use, place) for use, place in zip(uses, places, strict=True) if place >= 0)


def _set_shardings(calls: Sequence[CallOp], results: Sequence[SSAValue]) -> None:
    """Give the results of all calls the shardings that those of one stretch have: all stretches are equal."""
    for mine, result in zip(calls[0].results, results, strict=True):
        sharding = sharding_of(result)
        if sharding is not None:
            set_sharding(mine, sharding)
    for call in calls[1:]:
        set_result_shardings(call, result_shardings(calls[0]) or ())


def _locations(stretch: Sequence[Operation]) -> ArrayAttr[LocationAttr]:
    return ArrayAttr([each.location for op in stretch for each in op_and_nested_ops(op)])
