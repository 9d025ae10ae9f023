"""Let ops that move elements along cut dims exchange them between neighbouring shards.

    before  %1 = stablehlo.slice %0 [0:3] {[{"a"}]} : (tensor<8xi32>) -> tensor<3xi32>
    after   %1 = sdy.manual_computation(%0, %c) ... manual_axes={"a"} {
              // the neighbour's shard, by a collective-permute; both joined; from them this device's part
            }
            %2 = stablehlo.slice %1 [0:3] {[{"a"}]} : (tensor<4xi32>) -> tensor<3xi32>

Where an exchange would not pay, or there is none for the op, the dims are resharded to be whole.
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
from sdy.partitioner.halo.resolve import MeshReference, Resolver
from sdy.passes.rewriting.device_counts import device_style
from sdy.passes.rewriting.unique_names import UniqueNames


@dataclass(frozen=True)
class ResolvePermutationFactorsPass(ModulePass):
    """Exchange halos, or reshard."""

    name = "sdy-resolve-permutation-factors"

    enable_halo_exchange: bool = True
    replica_count: int = 1
    partition_count: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit every op, those in regions before the op that has them."""
        style = device_style(op, self.replica_count, self.partition_count)
        namer = _MeshNamer(op)
        resolver = Resolver(namer.meshes, style, self.enable_halo_exchange, namer.reversed)
        for inner in post_order(op):
            if isinstance(inner, StablehloOp) and not inner.has_trait(IsTerminator):
                resolver.resolve(inner)


class _MeshNamer:
    """Defines the meshes that reversed dims need, each once."""

    def __init__(self, module: ModuleOp) -> None:
        self.meshes = meshes_of(module)
        self._module = module
        self._names = UniqueNames(module)
        self._name_of = {mesh: name for name, mesh in self.meshes.items()}

    def reversed(self, reference: MeshReference, turned: Mesh) -> MeshReference:
        """How to refer to `turned`, which is the mesh `reference` with some dims reversed."""
        if not isinstance(reference, str):
            return turned
        name = self._name_of.get(turned)
        if name is None:
            name = self._name_of[turned] = self._names.new(f"{reference}_reversed")
            self.meshes[name] = turned
            op = MeshOp(name, turned)
            op.location = self._module.location
            block = self._module.body.block
            assert block.first_op is not None  # the mesh that is reversed
            block.insert_op_before(op, block.first_op)
        return name
