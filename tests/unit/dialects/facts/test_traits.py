"""Ops of other dialects that state facts are treated like those of StableHLO, in every stage that asks."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, f32, i1
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from sdy.dialects.chlo.dialect import CHLO
from sdy.dialects.facts.traits import (
    Combiner,
    Elementwise,
    Identity,
    LinearIn,
    Linearity,
    MovesElements,
    as_combiner,
    collective_kind,
    has_fact,
    is_elementwise,
    linearity,
    moves_elements,
    sharding_properties,
)
from sdy.dialects.ir import traits as former_place
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.stablehlo.control import ReturnOp
from sdy.dialects.stablehlo.dialect import STABLEHLO
from sdy.model.collective import CollectiveKind
from sdy.model.sharding import ReductionKind
from sdy.partitioner.layout_search.linearity import partial_operand_sets
from sdy.partitioner.on_shards.combiners import identity_element
from sdy.partitioner.on_shards.reduction_kinds import body_kinds

TENSOR = TensorType(f32, [4])


@irdl_op_definition
class RotateOp(IRDLOperation):
    """An op that moves elements, and may do so with partial sums."""

    name = "mine.rotate"
    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure(), MovesElements(), LinearIn(Linearity.FIRST))


@irdl_op_definition
class LongestOp(IRDLOperation):
    """An op that combines elements like a maximum."""

    name = "mine.longest"
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    traits = traits_def(Pure(), Elementwise(), Combiner(Identity.LEAST, is_idempotent=True, kind=ReductionKind.MAX))


def test_an_op_that_is_linear_passes_partial_sums_on() -> None:
    op = RotateOp.create(operands=Block(arg_types=[TENSOR]).args, result_types=[TENSOR])
    assert moves_elements(op)
    assert not is_elementwise(op)
    assert linearity(RotateOp) is Linearity.FIRST
    assert partial_operand_sets(op) == ((True,),)


def test_a_combiner_completes_a_reduction() -> None:
    scalar = TensorType(f32, [])
    block = Block(arg_types=[scalar, scalar])
    combined = LongestOp.create(operands=block.args, result_types=[scalar])
    block.add_ops([combined, ReturnOp.create(operands=combined.results)])
    assert body_kinds(Region(block)) == (ReductionKind.MAX,)
    assert identity_element(LongestOp, f32) == float("-inf")


def test_the_reduction_of_booleans_differs() -> None:
    by_name = {op.name: as_combiner(op) for op in STABLEHLO.operations}
    kinds = {name: (each.kind_for(f32), each.kind_for(i1)) for name, each in by_name.items() if each is not None}
    assert kinds == {
        "stablehlo.add": (ReductionKind.SUM, ReductionKind.SUM),
        "stablehlo.and": (None, ReductionKind.MIN),
        "stablehlo.maximum": (ReductionKind.MAX, ReductionKind.MAX),
        "stablehlo.minimum": (ReductionKind.MIN, ReductionKind.MIN),
        "stablehlo.multiply": (None, None),
        "stablehlo.or": (None, ReductionKind.MAX),
        "stablehlo.xor": (None, None),
    }


def test_the_dialects_have_all_kinds_of_collectives_but_those_to_or_from_one_device() -> None:
    kinds = [{collective_kind(op) for op in dialect.operations} - {None} for dialect in (SDY, STABLEHLO)]
    assert kinds[1] == set(CollectiveKind)
    assert kinds[1] - kinds[0] == {CollectiveKind.COLLECTIVE_BROADCAST, CollectiveKind.COLLECTIVE_REDUCE}


def test_each_property_with_shardings_exists() -> None:
    for op in SDY.operations:
        if issubclass(op, IRDLOperation):
            assert set(sharding_properties(op)) <= set(op.get_irdl_definition().properties)


def test_all_functions_of_elements_are_elementwise() -> None:
    families: dict[str, set[bool]] = {}
    for op in (*STABLEHLO.operations, *CHLO.operations):
        families.setdefault(family_of(op), set()).add(has_fact(op, Elementwise))
    assert [family for family, found in families.items() if True in found] == [
        "stablehlo.elementwise",
        "chlo.elementwise",
    ]
    assert families["stablehlo.elementwise"] == families["chlo.elementwise"] == {True}


def family_of(op: type[Operation]) -> str:
    return op.__module__.removeprefix("sdy.dialects.")


def test_the_former_place_of_the_first_trait_stays() -> None:
    assert former_place.Elementwise is Elementwise
