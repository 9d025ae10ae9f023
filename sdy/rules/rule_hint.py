"""The hint for an op without a sharding rule: a rule of the right ranks and sizes, to be pasted."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation

from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.grammar.write import write_rule
from sdy.model.rule_builder import RuleBuilder, identity_rule


def rule_hint(op: Operation, attribute: str) -> str | None:
    """Return a hint with a rule of the op, written as its `attribute`.

    If all tensors have one shape, it is the rule of an elementwise op; else each dim has a factor of its own.
    """
    shapes = [static_shape(value.type) for value in (*op.operands, *op.results)]
    if not shapes or any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    operands, results = known[: len(op.operands)], known[len(op.operands) :]
    if len(set(known)) == 1:
        rule, meaning = identity_rule(known[0], len(operands), len(results)), "if the op is elementwise, add"
    else:
        builder = RuleBuilder(map(len, operands), map(len, results))
        for tensor, shape in enumerate(known):
            for dim, size in enumerate(shape):
                dims = [dim if other == tensor else None for other in range(len(known))]
                builder.factor(size, dims[: len(operands)], dims[len(operands) :])
        rule, meaning = builder.build(), "add the rule, with one factor for dims that are sharded together:"
    text = write_rule(replace(rule, is_custom=True))
    in_jax = ""
    if isinstance(op, CustomCallOp):
        in_jax = "; in JAX, use custom_partitioning with its argument sharding_rule"
    return f"{meaning} {{{attribute} = #sdy.op_sharding_rule{text}}}{in_jax}"
