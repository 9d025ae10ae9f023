"""Rewrites of programs: greedily in the order of MLIR's driver, and of an op with one region.

A region loses repeated, passed-through and unused values.

before  %0:3 = fragment (%a, %b, %a) (%x, %y, %z) { %1 = add %x, %z  return %1, %y, %1 }
after   %0 = fragment (%a) (%x) { %1 = add %x, %x  return %1 }    and %b in place of %0#1

Source: docs/spec/07, 0.5 and 4.18.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.ir.walk import post_order, pre_order
from sdy.dialects.sdy.attrs import TensorShardingPerValueAttr
from sdy.mpmd.dialect.regions import FragmentOp, NamedComputationOp
from sdy.mpmd.dialect.syntax import SHARDING_LISTS
from sdy.mpmd.dialect.value_attributes import ARG_ATTRS, RES_ATTRS
from sdy.mpmd.passes.tools.uses import is_pure, is_used
from sdy.passes.rewriting.dead_code import erase_dead_ops
from sdy.passes.rewriting.insertion import erase, insert_before
from sdy.passes.rewriting.op_traits import is_erasable
from sdy.passes.rewriting.unique_constants import unique_constants
from sdy.passes.simplify.canonicalize import MAX_ROUNDS

OpT = TypeVar("OpT", bound=Operation)
T = TypeVar("T")
# Rewrites the program at an op. Returns the ops to try next, or None if nothing was changed.
Rewrite = Callable[[Operation], Iterable[Operation] | None]


def rewrite_greedily(
    scope: Operation, rewrites: Sequence[Rewrite], *, merges_constants: bool = False, simplifies_regions: bool = False
) -> None:
    """Apply rewrites inside `scope` until none applies; dead ops are always erased.

    With `merges_constants`, equal constants are merged before each round; with `simplifies_regions`, dead ops are
    erased after each, whatever else changed.
    """
    for _ in range(MAX_ROUNDS):
        if merges_constants:
            unique_constants(pre_order(scope))
        changed = _run(scope, rewrites)
        if simplifies_regions:
            changed |= erase_dead_ops(pre_order(scope))
        if not changed:
            return


def _run(scope: Operation, rewrites: Sequence[Rewrite]) -> bool:
    worklist = dict.fromkeys(post_order(scope))  # the op added last comes first; one that is listed keeps its place
    changed = False
    while worklist:
        op, _ = worklist.popitem()
        if op.parent is None or op is scope:
            continue  # erased by an earlier rewrite
        if not is_used(op) and is_erasable(op):
            sources = [operand.owner for operand in op.operands]
            erase(op)
            changed = True
            for source in sources:
                if isinstance(source, Operation):
                    worklist.setdefault(source)
            continue
        for rewrite in rewrites:
            touched = rewrite(op)
            if touched is not None:
                changed = True
                for each in touched:
                    if each.parent is not None:
                        worklist.setdefault(each)
                break
    return changed


RegionOp = FragmentOp | NamedComputationOp


def simplify_region_ops(scope: Operation, op_class: type[RegionOp]) -> None:
    """Simplify the ops of a class until nothing changes."""
    rewrite_greedily(scope, (lambda op: _simplify(op) if isinstance(op, op_class) else None,), simplifies_regions=True)


def _simplify(op: RegionOp) -> list[Operation] | None:
    """Simplify an op; return the ops to visit next, or None if nothing was changed."""
    results, operands = _dead_values(op)
    sources = [operand.owner for operand in op.operands if isinstance(operand.owner, Operation)]
    if len(results) == len(op.results):
        if not is_pure(op):
            return None
        erase(op)
        return sources
    if not results and not operands:
        return None
    return [_rebuilt(op, operands, results), *sources]


def _dead_values(op: RegionOp) -> tuple[set[int], set[int]]:
    """Redirect the uses of values that others replace; return the indices of the results and operands to drop."""
    end = terminator_of(op.body)
    block = op.body.block
    results, operands = redirect_repeated(op)
    for index, (operand, argument) in enumerate(zip(op.operands, block.args, strict=True)):
        is_kept = False
        for use in list(argument.uses):
            if use.operation is end and op.results[use.index].type == operand.type:
                replace_uses(op.results[use.index], operand)
                results.add(use.index)
            else:
                is_kept = True
        if not is_kept:
            operands.add(index)
    results.update(index for index in range(len(op.results)) if _is_droppable(op, end.operands[index], index))
    return results, operands


def redirect_repeated(op: RegionOp) -> tuple[set[int], set[int]]:
    """Use the first of equal results, and the first of equal operands; return the indices of the other ones."""
    results, operands = set[int](), set[int]()
    seen: dict[object, SSAValue] = {}
    for index, (value, result) in enumerate(zip(terminator_of(op.body).operands, op.results, strict=True)):
        first = seen.setdefault((value, result.type), result)
        if first is not result:
            replace_uses(result, first)
            results.add(index)
    arguments: dict[SSAValue, SSAValue] = {}
    for index, (operand, argument) in enumerate(zip(op.operands, op.body.block.args, strict=False)):
        known = arguments.setdefault(operand, argument)
        if known is not argument:
            replace_uses(argument, known)
            operands.add(index)
    return results, operands


def _is_droppable(op: RegionOp, returned: SSAValue, index: int) -> bool:
    if op.results[index].first_use is not None:
        return False
    if len(op.results) == 1:
        return is_pure(op)
    return isinstance(returned.owner, Block) or is_pure(returned.owner)


def _rebuilt(op: RegionOp, operands: set[int], results: set[int]) -> RegionOp:
    """Return the op with its body, without some operands and results."""
    if isinstance(op, NamedComputationOp):
        op.attributes.clear()  # as in Shardy
    shorter = without_values(op, (), results)
    erase_dead_ops(pre_order(shorter))  # which may use arguments that are dropped
    return without_values(shorter, operands, ())


def without_values(
    op: OpT, operands: Collection[int], results: Collection[int], added: Sequence[Attribute] = ()
) -> OpT:
    """Replace an op by one without some operands and some results, which are unused; types of results may be added.

    Its body has no arguments for the operands any more, and does not return the results.
    """
    if not (operands or results or added):
        return op
    kept = _without(op.results, results)
    if op.regions:
        drop_from_body(op, operands, results)
    new = type(op).create(
        operands=_without(op.operands, operands),
        result_types=[*(result.type for result in kept), *added],
        properties=op.properties,
        attributes=op.attributes,
        regions=[op.detach_region(region) for region in list(op.regions)],
    )
    insert_before(op, new)
    for old, result in zip(kept, new.results, strict=not added):
        replace_uses(old, result)
    erase(op)
    return new


def drop_from_body(op: Operation, arguments: Collection[int], returned: Collection[int]) -> None:
    """Drop unused arguments of the body of an op and values that it returns, with their attributes and shardings."""
    body = op.regions[0]
    end = terminator_of(body)
    end.operands = _without(end.operands, returned)
    for index in sorted(arguments, reverse=True):
        body.block.erase_arg(body.block.args[index])
    for holder in (op.properties, op.attributes):
        for name, dropped in zip((*SHARDING_LISTS, ARG_ATTRS, RES_ATTRS), (arguments, returned) * 2, strict=True):
            match holder.get(name):
                case TensorShardingPerValueAttr(data=shardings):
                    holder[name] = TensorShardingPerValueAttr(tuple(_without(shardings, dropped)))
                case ArrayAttr(data=entries):
                    dictionaries = [each for each in entries if isinstance(each, DictionaryAttr)]
                    holder[name] = ArrayAttr(_without(dictionaries, dropped))
                case _:
                    pass


def _without(items: Sequence[T], dropped: Collection[int]) -> list[T]:
    return [item for index, item in enumerate(items) if index not in dropped]
