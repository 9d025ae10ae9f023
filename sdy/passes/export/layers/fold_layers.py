"""Fold the layers of a network into calls of one function, so that equal layers are partitioned once.

    before  func @main { %1 = dot %x, %a  %2 = tanh %1  %3 = dot %2, %b  %4 = tanh %3  %5 = dot %4, %c  %6 = tanh %5 }
    after   func @main { %2 = call @layer(%x, %a)  %4 = call @layer(%2, %b)  %6 = call @layer(%4, %c) }
            func private @layer(%p, %w) attributes {sdy.layer} { %1 = dot %p, %w  %2 = tanh %1  return %2 }

Only runs of ops that are equal op by op are folded, including their shardings and those of the values they use. The
first op of a layer is chosen such that few values pass from one layer to the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, LocationAttr, ModuleOp, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue, Use
from xdsl.passes import ModulePass

from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import op_and_nested_ops, ops_in, ops_of
from sdy.dialects.shardings import (
    result_shardings,
    set_argument_sharding,
    set_function_result_sharding,
    set_result_shardings,
    set_sharding,
    sharding_of,
)
from sdy.partitioner.repetition import LEAST_COUNT, Periodic, longest_periodic
from sdy.passes.rewriting.call_graph import UniqueNames
from sdy.passes.rewriting.insertion import erase_run, insert_before
from sdy.passes.rewriting.op_order import forget_order
from sdy.passes.rewriting.structural_hash import StructuralHash, used_from_outside, uses_inside

LAYER = "sdy.layer"  # marks the functions that this pass creates
LOCATIONS = (
    "sdy.locations"  # of all ops of a layer: on the function those of the first layer, on each call those of its layer
)

ResultRef = tuple[int, int]  # a result in a layer: the index of the op, and of the result
OperandRef = ResultRef | None  # the result of the same layer that is used; None for a value from outside


@dataclass(frozen=True)
class FoldLayersPass(ModulePass):
    """Replace repeated layers by calls of a function if that shortens the module by at least `least_saved` ops."""

    name = "sdy-fold-layers"

    least_ops: int = 16  # of a layer
    least_saved: int = 256

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fold each function body until no layer repeats."""
        names, structure = UniqueNames(op), StructuralHash()
        for func in functions_of(op).values():
            if len(func.body.blocks) == 1 and self._fold_all(func.body.block, op, names, structure):
                forget_order(op)

    def _fold_all(self, block: Block, module: ModuleOp, names: UniqueNames, structure: StructuralHash) -> bool:
        ops = ops_in(block)
        entries = [structure.of(each) for each in ops]
        is_folded = False
        while (part := longest_periodic(entries, self.least_ops)) and part.saved >= self.least_saved:
            layers = repeated_layers(ops, part)
            if layers is not None:
                module.body.block.add_op(_fold(layers, names.new("layer")))
                is_folded = True
            # Mark ops that are folded, or cannot be, as different from all others.
            entries[part.start : part.end] = [-1 - index for index in range(part.start, part.end)]
        return is_folded


def has_folded_layers(module: ModuleOp) -> bool:
    """Return whether a function of a module stands for several layers."""
    return any(LAYER in func.attributes for func in functions_of(module).values())


def folded_locations(module: ModuleOp) -> dict[LocationAttr, list[LocationAttr]]:
    """Return, for the location of each op in a folded layer, the locations of its copies in all layers, in order."""
    found: dict[LocationAttr, list[LocationAttr]] = {}
    functions = functions_of(module)
    for call in ops_of(module, CallOp):
        function = functions[call.callee.string_value()]
        for own, location in zip(stored_locations(function), stored_locations(call), strict=True):
            found.setdefault(own, []).append(location)
    return found


def stored_locations(op: Operation) -> tuple[LocationAttr, ...]:
    """Return the locations that folding stored on an op: the function of a layer, or a call of it."""
    found = op.attributes.get(LOCATIONS)
    return cast("ArrayAttr[LocationAttr]", found).data if isinstance(found, ArrayAttr) else ()


@dataclass(frozen=True, slots=True)
class RepeatedLayers:
    """Equal runs of ops in a block: the ops, the values used from outside, and the results used outside."""

    runs: Sequence[Sequence[Operation]]
    parameters: Sequence[tuple[SSAValue, ...]]  # one value per layer
    parameter_indices: Sequence[Sequence[int]]  # per op and operand, the parameter; -1 for a result of the layer
    returned: Sequence[ResultRef]


def repeated_layers(ops: Sequence[Operation], part: Periodic) -> RepeatedLayers | None:
    """Return the layers of a periodic part; the first and last may be left out if their operands differ."""
    start = _best_start(ops, part)
    count = (part.end - start) // part.period
    runs = [ops[start + number * part.period :][: part.period] for number in range(count)]
    for trimmed in (runs, runs[1:], runs[:-1], runs[1:-1]):
        if len(trimmed) >= LEAST_COUNT and (layers := _checked(trimmed)) is not None:
            return layers
    return None


def _best_start(ops: Sequence[Operation], part: Periodic) -> int:
    """Return the index in the first period at which the fewest values cross into the next layer."""
    numbers = {op: number for number, op in enumerate(ops[part.start : part.end])}
    crossing = [0] * (part.period + 1)
    for number in range(part.period, 2 * part.period):
        users = (numbers.get(use.operation, -1) for result in ops[part.start + number].results for use in result.uses)
        last = max((user for user in users if user - number < part.period), default=-1)
        for index in range(number + 1, last + 1):
            crossing[index % part.period] += 1
    shifts = range(min(part.period, part.end - part.start - LEAST_COUNT * part.period + 1))
    return part.start + min(shifts, key=lambda shift: (crossing[shift], shift))


def _checked(runs: Sequence[Sequence[Operation]]) -> RepeatedLayers | None:
    """Return the common structure of the layers; None if they use their own results differently."""
    first = runs[0]
    own = [(number, index) for number, op in enumerate(first) for index in range(len(op.results))]
    refs, values = zip(*(_inputs(run, own) for run in runs), strict=True)
    if any(each != refs[0] for each in refs):
        return None
    parameters = dict.fromkeys(zip(*values, strict=True))
    if any(len({sharding_of(value) for value in parameter}) > 1 for parameter in parameters):
        return None
    number_of = {parameter: number for number, parameter in enumerate(parameters)}
    from_outside = iter(zip(*values, strict=True))
    indices = [[-1 if ref else number_of[next(from_outside)] for ref in of_op] for of_op in refs[0]]
    uses_within = Counter(ref for of_op in refs[0] for ref in of_op)
    counts = [uses_within[ref] for ref in own]
    leaving = {number for run in runs for number in _leaving(run, counts)}
    returned = [own[number] for number in sorted(leaving)]
    return RepeatedLayers(runs, tuple(parameters), indices, returned) if returned else None


def _inputs(run: Sequence[Operation], own: Sequence[ResultRef]) -> tuple[list[list[OperandRef]], list[SSAValue]]:
    """Return for each op the operands among `own`, the results of the layer, and all values from outside."""
    ref_of = dict(zip(map(id, _results(run)), own, strict=True))
    used = [used_from_outside(op) for op in run]
    refs: list[list[OperandRef]] = [list(map(ref_of.get, map(id, of_op))) for of_op in used]
    return refs, [value for of_op in used for value in of_op if id(value) not in ref_of]


def _leaving(run: Sequence[Operation], counts: Sequence[int]) -> list[int]:
    """Return the results that are used outside the layer: they have more uses than the `counts` inside."""
    pairs = enumerate(zip(_results(run), counts, strict=True))
    return [number for number, (result, count) in pairs if result.uses.get_length() > count]


def _results(run: Sequence[Operation]) -> list[OpResult]:
    return [result for op in run for result in op.results]


def _fold(layers: RepeatedLayers, name: str) -> FuncOp:
    """Replace the layers by calls and return their function."""
    calls = [_call(layers, number, name) for number in range(len(layers.runs))]
    first, *others = layers.runs
    _set_shardings(calls, _returned(layers, first))
    own = {each for op in first for each in op_and_nested_ops(op)}
    for value, result in zip(_returned(layers, first), calls[0].results, strict=True):
        value.replace_uses_with_if(result, lambda use: use.operation not in own)
    for run, call in zip(others, calls[1:], strict=True):
        erase_run(run)  # the remaining users are outside
        for value, result in zip(_returned(layers, run), call.results, strict=True):
            replace_uses(value, result)
    return _function(layers, name)


def _returned(layers: RepeatedLayers, run: Sequence[Operation]) -> list[OpResult]:
    return [run[number].results[index] for number, index in layers.returned]


def _call(layers: RepeatedLayers, number: int, name: str) -> CallOp:
    """Insert the call of one layer, right before its first op."""
    run = layers.runs[number]
    arguments = [parameter[number] for parameter in layers.parameters]
    call = CallOp(name, arguments, [result.type for result in _returned(layers, run)])
    call.attributes[LOCATIONS] = _locations(run)
    insert_before(run[0], call)
    return call


def _function(layers: RepeatedLayers, name: str) -> FuncOp:
    """Return a function with the ops of the first layer."""
    first = layers.runs[0]
    values = [parameter[0] for parameter in layers.parameters]
    results = _returned(layers, first)
    block = Block(arg_types=[value.type for value in values])
    pairs = zip(first, layers.parameter_indices, strict=True)
    uses = [(use, index) for op, of_op in pairs for use, index in _uses(op, of_op)]
    for op in first:
        op.detach()
        block.add_op(op)
    for use, index in uses:
        use.operation.operands[use.index] = block.args[index]
    end = ReturnOp.create(operands=results)
    block.add_op(end)
    types = [each.type for each in values], [each.type for each in results]
    func = FuncOp(name, types, Region(block), visibility="private")
    func.attributes |= {LAYER: UnitAttr(), LOCATIONS: _locations(first)}
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


def _uses(op: Operation, parameters: Sequence[int]) -> Iterator[tuple[Use, int]]:
    """Yield the uses of parameters in an op, each with the index of the parameter."""
    uses = [*(Use(op, index) for index in range(len(op.operands))), *uses_inside(op)]
    return ((use, index) for use, index in zip(uses, parameters, strict=True) if index >= 0)


def _set_shardings(calls: Sequence[CallOp], results: Sequence[SSAValue]) -> None:
    """Give the results of all calls the shardings of one layer's results: all layers are equal."""
    for mine, result in zip(calls[0].results, results, strict=True):
        sharding = sharding_of(result)
        if sharding is not None:
            set_sharding(mine, sharding)
    for call in calls[1:]:
        set_result_shardings(call, result_shardings(calls[0]) or ())


def _locations(run: Sequence[Operation]) -> ArrayAttr[LocationAttr]:
    return ArrayAttr([each.location for op in run for each in op_and_nested_ops(op)])
