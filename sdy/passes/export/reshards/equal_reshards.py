"""Share equal reshards of one value.

before  %1 = sdy.reshard %0 <@m, [{}]>          after   %1 = sdy.reshard %0 <@m, [{}]>
        "f"(%1)                                         "f"(%1)
        %2 = sdy.reshard %0 <@m, [{}]>                  "g"(%1)
        "g"(%2)
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from sdy.dialects.ir.walk import ops_of
from sdy.dialects.sdy.ops import ReshardOp
from sdy.model.sharding import TensorSharding
from sdy.passes.rewriting.insertion import replace_by


def share_equal_reshards(module: ModuleOp) -> None:
    """Replace a reshard by an earlier equal one whose result is visible to its users."""
    done: dict[tuple[SSAValue, TensorSharding], list[tuple[Block, SSAValue]]] = {}
    for reshard in ops_of(module, ReshardOp):
        equal = done.setdefault((reshard.input, reshard.sharding.data), [])
        earlier = next((result for block, result in equal if block.is_ancestor(reshard)), None)
        if earlier is None:
            assert reshard.parent is not None
            equal.append((reshard.parent, reshard.result))
        else:
            replace_by(reshard, earlier)
