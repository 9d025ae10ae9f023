"""Registers dialects, custom calls, passes and an auto-partitioner defined outside of sdy: docs/extending.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sdy.diagnostics.user_code import require_callable, require_subclass, require_type

if TYPE_CHECKING:
    from xdsl.ir import Dialect
    from xdsl.passes import ModulePass

    from sdy.cost.flops import OpCost
    from sdy.dialects.ir.op_table import OpTable
    from sdy.dialects.stablehlo.calls import CustomCallOp
    from sdy.interpreter.kernel import KernelTable
    from sdy.model.rule import OpShardingRule
    from sdy.passes.manager.auto_partitioner import AutoPartitioner


def register_dialect(
    dialect: Dialect,
    *,
    rules: OpTable[OpShardingRule | None] | None = None,
    kernels: KernelTable | None = None,
    costs: OpTable[OpCost | float | None] | None = None,
) -> None:
    """Register a dialect, so that its ops can be parsed, verified and printed.

    `rules` map its ops to sharding rules, which propagation and partitioning use; `kernels` let the interpreter run
    them; `costs` map them to their work on the shapes of one device, an `OpCost` or a number of FLOPs. An op with the
    trait `Elementwise` needs no rule. The tensors of an op without a rule must be unsharded, and an op without a cost
    counts as reading its operands and writing its results.
    Raises: ValueError if the dialect is already registered, or if an op already has a rule, a kernel or a cost;
    SdyError SDY-T213 if a table is not an `OpTable`.
    """
    from xdsl.ir import Dialect

    from sdy.dialects.ir.op_table import OpTable
    from sdy.dialects.module_text import add_dialect
    from sdy.rules.all import RULES

    require_type(dialect, Dialect, "sdy.register_dialect: dialect")
    for name, table in (("rules", rules), ("kernels", kernels), ("costs", costs)):
        if table is not None:
            require_type(table, OpTable, f"sdy.register_dialect: {name}", "fill an OpTable with @table.of(OpClass)")

    add_dialect(dialect)
    if rules is not None:
        from sdy.rules.user_rules import CHECKED_WHEN_READ, checked_rule

        RULES.extend(rules.with_entries(checked_rule))
        CHECKED_WHEN_READ.update(rules)
    if kernels is not None:
        from sdy.interpreter.ops.all import KERNELS
        from sdy.interpreter.user_kernels import checked_kernel

        KERNELS.extend(kernels.with_entries(checked_kernel))
    if costs is not None:
        from sdy.cost.flops import COSTS, checked_cost

        COSTS.extend(costs.with_entries(checked_cost))


def register_custom_call(
    target: str,
    kernel: Callable[..., object] | None = None,
    *,
    rule: Callable[[CustomCallOp], OpShardingRule | None] | None = None,
    flops: Callable[[CustomCallOp], float] | float | None = None,
    bytes: Callable[[CustomCallOp], float] | float | None = None,  # noqa: A002 - the field of `OpCost`
) -> None:
    """Tell how `stablehlo.custom_call @target` computes, how it is sharded, and what it costs.

    The target may also be the name of a kernel of Pallas, since all kernels share one target. `kernel` takes the NumPy
    arrays of one device, one per operand, and returns an array or a tuple of arrays. `rule` returns the sharding rule
    of a call; `sdy audit` checks it, and `sdy audit --learn` proposes one. A call without a rule runs on unsharded
    operands. `flops` and `bytes`, numbers or functions of the call on the shapes of one device, are its arithmetic and
    the bytes that it reads and writes, by default its operands and results.
    Raises: ValueError if the target has a kernel, a rule or a cost already; SdyError SDY-T213 if one of them is neither
    a function nor, for a cost, a number.
    """
    require_type(target, str, "sdy.register_custom_call: target")
    for name, function in (("kernel", kernel), ("rule", rule)):
        if function is not None:
            require_callable(function, f"sdy.register_custom_call: {name}")
    for name, work in (("flops", flops), ("bytes", bytes)):
        if work is not None and not callable(work):
            require_type(work, (int, float), f"sdy.register_custom_call: {name}", "a number, or a function of the call")
    if rule is not None:
        from sdy.dialects.stablehlo.calls import CustomCallOp
        from sdy.rules.custom_calls import add_target as add_rule
        from sdy.rules.user_rules import CHECKED_WHEN_READ, checked_rule

        add_rule(target, checked_rule(rule))
        CHECKED_WHEN_READ.add(CustomCallOp)
    if kernel is not None:
        from sdy.interpreter.ops.custom_calls import add_target

        add_target(target, kernel)
    if flops is not None or bytes is not None:
        from sdy.cost.flops import add_call

        add_call(target, flops, bytes)


def register_pass(kind: type[ModulePass]) -> None:
    """Register a pass for `sdy-opt` and textual pipelines; the fields of the class are the options of the pass.

    The fields have the types bool, int, float, str, Literal, tuples of these (`tuple[int, ...]`) or `T | None`. A field
    of a class, such as the schedule of a propagation pass, is set in Python.
    Raises: ValueError if a pass of that name is already registered; SdyError SDY-T010 if a field has another type.
    """
    from xdsl.passes import ModulePass

    from sdy.passes.manager.all import add_pass
    from sdy.passes.manager.option_types import options_of

    require_subclass(kind, ModulePass, "sdy.register_pass: kind")
    require_type(getattr(kind, "name", None), str, f"sdy.register_pass: {kind.__name__}.name")
    options_of(kind)
    add_pass(kind)


def register_auto_partitioner(partitioner: AutoPartitioner) -> None:
    """Register a function that returns passes, which run after propagation where auto-partitioning is enabled.

    Raises: SdyError SDY-T113 if one is registered already.
    """
    from sdy.passes.manager.auto_partitioner import register

    register(partitioner)


def clear_auto_partitioner() -> None:
    """Unregister the auto-partitioner, if there is one."""
    from sdy.passes.manager.auto_partitioner import clear

    clear()
