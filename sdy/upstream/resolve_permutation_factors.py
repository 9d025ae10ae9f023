"""Exchange halos between neighbouring shards for ops that move elements along sharded dims.

    before  %1 = stablehlo.slice %0 [0:3] {[{"a"}]} : (tensor<8xi32>) -> tensor<3xi32>
    after   %1 = sdy.manual_computation(%0, %c) ... manual_axes={"a"} {
              // receive the neighbour's shard by a collective-permute, concatenate, slice this device's elements
            }
            %2 = stablehlo.slice %1 [0:3] {[{"a"}]} : (tensor<4xi32>) -> tensor<3xi32>

If an exchange would not pay, or the op has none, the dims are resharded to be unsharded.
Requires: explicit reshards. Ensures: no op with a rule of ours needs elements of other shards.
Source: docs/spec/06, 3.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from sdy.dialects.ir.walk import post_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.stablehlo.base import StablehloOp
from sdy.model.mesh import Mesh
from sdy.passes.rewriting.call_graph import UniqueNames
from sdy.passes.rewriting.device_counts import device_style
from sdy.upstream.halo.resolve import MeshReference, Resolver


@dataclass(frozen=True)
class ResolvePermutationFactorsPass(ModulePass):
    """Exchange halos, or unshard the dims."""

    name = "sdy-resolve-permutation-factors"

    enable_halo_exchange: bool = True
    replica_count: int = 1
    partition_count: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit every op, ops in regions before their parent."""
        style = device_style(op, self.replica_count, self.partition_count)
        namer = _MeshNamer(op)
        resolver = Resolver(namer.meshes, style, self.enable_halo_exchange, namer.reversed)
        for inner in post_order(op):
            if isinstance(inner, StablehloOp) and not inner.has_trait(IsTerminator):
                resolver.resolve(inner)


class _MeshNamer:
    """Defines the meshes of reversed dims, without duplicates."""

    def __init__(self, module: ModuleOp) -> None:
        self.meshes = meshes_of(module)
        self._module = module
        self._names = UniqueNames(module)
        self._name_of = {mesh: name for name, mesh in self.meshes.items()}

    def reversed(self, reference: MeshReference, turned: Mesh) -> MeshReference:
        """Return a reference to `turned`, the mesh `reference` with some axes reversed."""
        if not isinstance(reference, str):
            return turned
        name = self._name_of.get(turned)
        if name is None:
            name = self._name_of[turned] = self._names.new(f"{reference}_reversed")
            self.meshes[name] = turned
            op = MeshOp(name, turned)
            op.location = self._module.location
            block = self._module.body.block
            assert block.first_op is not None  # the mesh being reversed
            block.insert_op_before(op, block.first_op)
        return name
