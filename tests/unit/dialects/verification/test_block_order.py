"""The order of ops in a block is known, however ops are inserted, moved and erased."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from xdsl.dialects import test
from xdsl.ir import Block, Operation

from sdy.dialects.verification.recheck import BlockOrder


def index_in(block: Block, op: Operation) -> int:
    return list(block.ops).index(op)


@pytest.mark.parametrize("seed", range(5))
def test_order_is_known_after_random_edits(seed: int) -> None:
    random = Random(seed)
    block = Block([test.TestOp() for _ in range(10)])
    order = BlockOrder()
    for _ in range(200):
        new = [test.TestOp() for _ in range(random.randint(1, 4))]
        place = random.choice(list(block.ops))
        (block.insert_ops_before if random.random() < 0.5 else block.insert_ops_after)(new, place)
        moved = random.choice(list(block.ops))
        moved.detach()
        block.insert_op_before(moved, random.choice(list(block.ops)))
        erased = random.choice(list(block.ops))
        erased.detach()
        order.forget(map(id, (*new, moved, erased)))
        asked = random.sample(list(block.ops), 5)
        for op in asked:
            assert order.is_before(op, asked[0]) == (index_in(block, op) < index_in(block, asked[0]))
        ops = list(block.ops)
        assert all(order.is_before(*pair) for pair in pairwise(ops))
        assert not any(order.is_before(after, op) for op, after in pairwise(ops))


def test_a_block_is_numbered_again_where_no_number_is_left() -> None:
    first, last = test.TestOp(), test.TestOp()
    block = Block([first, last])
    order = BlockOrder()
    for _ in range(100):
        new = test.TestOp()
        block.insert_op_after(new, first)
        assert order.is_before(first, new)
        assert order.is_before(new, last)
        last = new
