"""Pad tensors so that every sharded dim divides by its shard count; the results of the program do not change.

    before  %1 = sdy.all_slice [{"x"}] %0 out_sharding=<@m, [{"x"}]> : tensor<7xf32>      "x"=4
    after   %1 = stablehlo.pad %0, %zero, low = [0], high = [1], interior = [0] : ... -> tensor<8xf32>
            %2 = sdy.all_slice [{"x"}] %1 out_sharding=<@m, [{"x"}]> : tensor<8xf32>

Before an op that combines elements along a padded dim, the padding is replaced by the identity element.
Some ops then still need elements of other shards: `sdy-unshard-unsupported-ops` runs them unsharded.
Requires: collectives instead of reshards; divisible function boundaries. Ensures: every sharded dim divides.
Source: docs/spec/06, 2.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sharded_types import local_type
from sdy.dialects.shardings import argument_sharding, function_result_sharding
from sdy.grammar.write import write_sharding
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.passes.export.close.barriers import erase_barriers
from sdy.upstream.padding import pad_module


class PadForDivisibilityPass(ModulePass):
    """Pad dims that do not divide."""

    name = "sdy-pad-for-divisibility"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check that function boundaries divide, then pad inside the functions."""
        meshes = meshes_of(op)
        erase_barriers(op)
        for func in functions_of(op).values():
            _check_boundary(func, meshes)
        pad_module(op)


def _check_boundary(func: FuncOp, meshes: MeshTable) -> None:
    """Check a function. Raises: SdyError SDY-L015 for the first argument or result that does not divide."""
    inputs, outputs = func.function_type.inputs, func.function_type.outputs
    values = [
        *((f"argument #{i}", each, argument_sharding(func, i)) for i, each in enumerate(inputs)),
        *((f"result #{i}", each, function_result_sharding(func, i)) for i, each in enumerate(outputs)),
    ]
    for name, value_type, sharding in values:
        mesh = None if sharding is None else resolve_mesh(sharding.mesh, meshes)
        if sharding is None or mesh is None or local_type(value_type, sharding, mesh, allow_uneven=False) is not None:
            continue
        message = f"{name} has a non-divisible sharding: {write_sharding(sharding)} does not divide {value_type}"
        hint = "run sdy-update-non-divisible-input-output-shardings first"
        consequence = (
            f"@{func.sym_name.data} cannot be padded: its callers depend on the sizes of arguments and results"
        )
        raise SdyError(
            Diagnostic("SDY-L015", message, span_of(func), hint=hint),
            Diagnostic("SDY-L015", consequence, span_of(func)),
        )
