from __future__ import annotations

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Operation

from sdy.dialects.ir.fast_ops import (
    copy_with_regions,
    detach,
    detach_range,
    drop_uses,
    insert_op_before,
    set_type,
)
from sdy.dialects.ir.walk import blocks_of, pre_order
from sdy.dialects.module_text import make_context, parse_module, print_module

NESTED = """func.func @f(%a: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %twice = stablehlo.add %a, %a : tensor<4xf32>
  %chosen = "stablehlo.if"(%p) ({
    %inner = stablehlo.multiply %twice, %a {sdy.sharding = #sdy.sharding_per_value<[<mesh<["x"=2]>, [{"x"}]>]>} : tensor<4xf32>
    stablehlo.return %inner : tensor<4xf32>
  }, {
    stablehlo.return %twice : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %chosen : tensor<4xf32>
}
"""  # noqa: E501
BRANCHING = '"a.b"() ({\n  "a.br"()[^bb1] : () -> ()\n^bb1:\n  "a.d"() : () -> ()\n}) : () -> ()\n'


def uses(op: Operation) -> list[list[tuple[str, int]]]:
    """Return the uses of all values inside `op`, in the order of the use lists."""
    values = [argument for inner in (op, *pre_order(op)) for block in blocks_of(inner) for argument in block.args]
    values += [result for inner in pre_order(op) for result in inner.results]
    return [[(use.operation.name, use.index) for use in value.uses] for value in values]


def test_copy_with_regions_matches_clone() -> None:
    module = parse_module(NESTED)
    copy, clone = copy_with_regions(module), module.clone()
    copy.verify()
    assert print_module(copy) == print_module(clone) == print_module(module)
    assert uses(copy) == uses(clone)
    names = [[value.name_hint for inner in pre_order(op) for value in inner.results] for op in (copy, clone)]
    assert names[0] == names[1]
    assert [op.location for op in pre_order(copy)] == [op.location for op in pre_order(module)]


def test_a_copy_shares_no_mutable_state() -> None:
    module = parse_module(NESTED)
    before = print_module(module)
    for op in pre_order(copy_with_regions(module)):
        op.attributes.clear()
        op.properties.clear()
    assert print_module(module) == before


def test_branching_blocks_are_copied() -> None:
    module = parse_module(BRANCHING, context=make_context(allow_unregistered=True))
    copy = copy_with_regions(module)
    first, second = blocks_of(pre_order(copy)[0])
    assert first.last_op is not None
    assert list(first.last_op.successors) == [second]


def test_detach_range_removes_ops_from_their_block() -> None:
    function = blocks_of(parse_module(NESTED))[0].first_op
    assert function is not None
    block = blocks_of(function)[0]
    twice, chosen, returned = block.ops
    detach_range(chosen, returned)
    assert list(block.ops) == [twice]
    assert (block.last_op, twice.next_op, chosen.prev_op, chosen.next_op) == (twice, None, None, returned)
    detach_range(twice, twice)
    assert (block.first_op, block.last_op) == (None, None)


def test_set_type_keeps_uses() -> None:
    module = parse_module(NESTED)
    twice = next(op for op in pre_order(module) if op.name == "stablehlo.add").results[0]
    before = uses(module)
    set_type(twice, TensorType(f32, [8]))
    assert twice.type == TensorType(f32, [8])
    assert uses(module) == before


def test_erased_ops_leave_no_trace() -> None:
    fast, slow = (blocks_of(pre_order(parse_module(NESTED))[0])[0] for _ in range(2))
    for block in (fast, slow):
        twice, chosen, end = block.ops
        end.operands = [twice.results[0]]
        for op in (chosen, end, twice):
            if block is fast:
                detach(op)
                drop_uses(op)
            else:
                op.detach()
                op.drop_all_references()
            assert op.parent is op.next_op is op.prev_op is None
        assert block.first_op is block.last_op is None
        assert all(argument.first_use is None for argument in block.args)


def test_insert_op_before_matches_that_of_xdsl() -> None:
    fast, slow = (blocks_of(pre_order(parse_module(NESTED))[0])[0] for _ in range(2))
    for block in (fast, slow):
        twice, _, end = block.ops
        for before in (twice, end):
            new = twice.clone()
            if block is fast:
                insert_op_before(new, before)
            else:
                block.insert_op_before(new, before)
    names = [[op.name for op in block.ops] for block in (fast, slow)]
    assert names[0] == names[1] == ["stablehlo.add", "stablehlo.add", "stablehlo.if", "stablehlo.add", "func.return"]
    assert [op.next_op.prev_op is op for op in fast.ops if op.next_op] == [True] * 4
