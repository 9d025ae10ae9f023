"""Teaching sdy a dialect, or a pass, of somebody else's. A walk through is in docs/extending.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Dialect
    from xdsl.passes import ModulePass

    from sdy.dialects.ir.op_table import OpTable
    from sdy.interpreter.kernel import KernelTable
    from sdy.model.rule import OpShardingRule


def register_dialect(
    dialect: Dialect, *, rules: OpTable[OpShardingRule | None] | None = None, kernels: KernelTable | None = None
) -> None:
    """Let programs use a dialect: its ops parse, verify and print; with rules they propagate and partition, with
    kernels they run.

    An op with the trait `Elementwise` needs no rule. An op without rule must have whole tensors to be run on shards.
    Raises: ValueError where the dialect is known already; InternalError where an op has a rule or a kernel already.
    """
    from sdy.dialects.module_text import add_dialect
    from sdy.rules.all import RULES

    add_dialect(dialect)
    if rules is not None:
        RULES.extend(rules)
    if kernels is not None:
        from sdy.interpreter.ops.all import KERNELS

        KERNELS.extend(kernels)


def register_pass(kind: type[ModulePass]) -> None:
    """Let `sdy-opt` and textual pipelines name a pass; the fields of the class are its options.

    Raises: ValueError where there is a pass of that name.
    """
    from sdy.passes.manager.all import add_pass

    add_pass(kind)
