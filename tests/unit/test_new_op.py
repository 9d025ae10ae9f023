"""Every op of StableHLO and CHLO has all its parts; a failure names the file in which a part is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.traits import IsTerminator

from sdy.dialects.chlo.dialect import CHLO
from sdy.dialects.stablehlo.dialect import STABLEHLO
from sdy.interpreter.ops.all import KERNELS
from sdy.partitioner.on_shards.shard_facts import FACTS
from sdy.rules.all import RULES, WITHOUT_RULE
from sdy.rules.partitioner_rules import PARTITIONER_RULES

FILE_TESTS = Path(__file__).parents[1] / "filecheck" / "dialects"
TEXT = "\n".join(path.read_text() for path in sorted(FILE_TESTS.glob("*.mlir")))
RULED = {*RULES, *PARTITIONER_RULES, *WITHOUT_RULE, *(op for op, facts in FACTS.items() if not facts.has_rule)}

DYNAMIC = "dynamic shapes are not sharded"
NO_TENSOR = "its values are not tensors"
LOWERED = "JAX lowers it to other ops before sharding; unsharded otherwise"
REASONS_WITHOUT_RULE = {
    "stablehlo.composite": "sharded as the call of its decomposition",
    "stablehlo.collective_reduce": "a collective of a local program",
    "stablehlo.replica_id": "a property of the device",
    "stablehlo.rng": "every device would draw other numbers",
    "chlo.ragged_dot": "Shardy has no rule; computed unsharded",
    "chlo.scan": "Shardy has no rule; computed unsharded",
    "stablehlo.torch_index_select": LOWERED,
    "stablehlo.einsum": LOWERED,
    "stablehlo.unary_einsum": LOWERED,
    "chlo.constant": LOWERED,
    "chlo.constant_like": LOWERED,
    **dict.fromkeys(("stablehlo.tuple", "stablehlo.async_start", "stablehlo.async_done"), NO_TENSOR),
    **{
        f"stablehlo.{name}": DYNAMIC
        for name in (
            *("dynamic_iota", "dynamic_broadcast_in_dim", "dynamic_reshape", "set_dimension_size"),
            *("real_dynamic_slice", "dynamic_pad", "dynamic_gather", "dynamic_conv"),
        )
    },
    **{op.name: LOWERED for op in CHLO.operations if op.name.startswith("chlo.broadcast_")},
}
REASONS_WITHOUT_KERNEL = {
    "stablehlo.tuple": "only packs values",
    "stablehlo.get_tuple_element": "only unpacks values",
    "stablehlo.async_done": "only unpacks the future",
    "stablehlo.uniform_quantize": "a conversion of stored elements",
    "stablehlo.uniform_dequantize": "a conversion of stored elements",
    "chlo._asin_acos_kernel": "an internal step of a lowering",
}
REASONS_WITHOUT_TEXT = {
    "stablehlo.async_start": "covered by tests/property/test_collective_shapes.py",
    "stablehlo.async_done": "covered by tests/property/test_collective_shapes.py",
    "stablehlo.collective_reduce": "covered by tests/property/test_collectives.py",
}


def missing_parts(op_class: type[Operation]) -> Iterator[str]:
    """Yield a line for each part of an op that does not exist and has no reason to be missing."""
    name, family = op_class.name, op_class.__module__.rpartition(".")[2]
    if op_class not in RULED and name not in REASONS_WITHOUT_RULE:
        yield f"{name} has no sharding rule: add one to sdy/rules/{family}.py"
    if op_class not in KERNELS and name not in REASONS_WITHOUT_KERNEL:
        yield f"{name} has no kernel: add one to sdy/interpreter/ops/{family}.py"
    if name not in TEXT and name not in REASONS_WITHOUT_TEXT:
        yield f"{name} is in no file test: add it to tests/filecheck/dialects/stablehlo_{family}.mlir"


def ops() -> list[type[Operation]]:
    found = (op for dialect in (STABLEHLO, CHLO) for op in dialect.operations)
    return [op for op in found if not op.has_trait(IsTerminator)]


def test_no_op_misses_a_part() -> None:
    found = [line for op in ops() for line in missing_parts(op)]
    assert found == [], "\n" + "\n".join(found)


def test_a_new_op_is_told_the_files_that_miss_it() -> None:
    @irdl_op_definition
    class InventedOp(IRDLOperation):
        name = "stablehlo.invented"

    InventedOp.__module__ = "sdy.dialects.stablehlo.slicing"
    found = "\n".join(missing_parts(InventedOp))
    for file in ("sdy/rules/slicing.py", "sdy/interpreter/ops/slicing.py", "stablehlo_slicing.mlir"):
        assert file in found


def test_every_reason_is_needed() -> None:
    by_name = {op.name: op for op in ops()}
    assert [name for name in REASONS_WITHOUT_RULE if by_name[name] in RULED] == []
    assert [name for name in REASONS_WITHOUT_KERNEL if by_name[name] in KERNELS] == []
    assert [name for name in REASONS_WITHOUT_TEXT if name in TEXT] == []
