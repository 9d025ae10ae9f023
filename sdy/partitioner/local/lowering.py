"""What the local forms share: the shardings of the whole program, its meshes, and where new ops go.

Shardings are read once, from the program before anything was changed; a value that replaces another one inherits
its sharding. Source: spec of local lowering, sections 1.1 to 1.5.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.meshes import meshes_of
from sdy.dialects.places import span_of
from sdy.dialects.sharded_types import local_type
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.attrs import ChannelHandleAttr
from sdy.dialects.walk import pre_order
from sdy.grammar.write import write_sharding
from sdy.model.axis import AxisList
from sdy.model.mesh import Mesh
from sdy.model.meshes import resolved
from sdy.model.sharding import TensorSharding
from sdy.partitioner.local.emitter import Channels, Emitter


class Lowering:
    """A module on its way to the program of one device."""

    def __init__(self, module: ModuleOp, *, counts_replicas: bool = False) -> None:
        self._meshes = meshes_of(module)
        self._counts_replicas = counts_replicas
        self._shardings: dict[SSAValue, TensorSharding] = {}
        last_channel = 0
        for op in pre_order(module):
            for value in (*op.results, *(argument for region in op.regions for argument in _arguments(region))):
                sharding = sharding_of(value)
                if sharding is not None:
                    self._shardings[value] = sharding
            handle = {**op.properties, **op.attributes}.get("channel_handle")
            if isinstance(handle, ChannelHandleAttr):
                last_channel = max(last_channel, handle.data.handle)
        self._channels = Channels(last_channel)

    def sharding(self, value: SSAValue) -> TensorSharding | None:
        """The sharding of `value` in the whole program."""
        return self._shardings.get(value)

    def mesh(self, sharding: TensorSharding) -> Mesh:
        """The mesh of a sharding of the program, which is verified."""
        mesh = resolved(sharding.mesh, self._meshes)
        assert mesh is not None
        return mesh

    def dim_axes(self, value: SSAValue, dim: int) -> AxisList:
        """The axes that cut `dim` of `value`."""
        sharding = self.sharding(value)
        return sharding.dims[dim].axes if sharding is not None and sharding.dims else ()

    def is_cut(self, value: SSAValue) -> bool:
        """Whether some dim of `value` is cut."""
        sharding = self.sharding(value)
        return sharding is not None and not sharding.is_fully_replicated

    def local_type(self, value_type: Attribute, sharding: TensorSharding | None, op: Operation) -> Attribute:
        """The type of one shard. Raises: SdyError SDY-L003 where a dim does not divide; `op` is who is told."""
        if sharding is None:
            return value_type
        local = local_type(value_type, sharding, self.mesh(sharding), allow_uneven=False)
        if local is None:
            message = f"{op.name}: a dim of {value_type} does not divide by its axes in {write_sharding(sharding)}"
            hint = "run sdy-pad-for-divisibility first, or use axes whose size divides the dim"
            raise SdyError(Diagnostic("SDY-L003", message, span_of(op), hint=hint))
        return local

    def make_local(self, value: SSAValue, op: Operation) -> None:
        """Give `value`, which belongs to `op`, the type of one shard."""
        local = self.local_type(value.type, self.sharding(value), op)
        if local != value.type:
            sharding = self._shardings.pop(value)
            self._shardings[Rewriter.replace_value_with_new_type(value, local)] = sharding

    def emitter(self, before: Operation) -> Emitter:
        """Emits in front of `before`."""
        return Emitter(before, self._channels, counts_replicas=self._counts_replicas)

    def replace(self, op: Operation, *values: SSAValue) -> None:
        """Let `values` stand for the results of `op`, which goes."""
        for result, value in zip(op.results, values, strict=True):
            sharding = self._shardings.pop(result, None)
            if sharding is not None:
                self._shardings[value] = sharding
            result.replace_all_uses_with(value)
        op.detach()
        op.erase()


def _arguments(region: Region) -> list[BlockArgument]:
    return [argument for block in region.blocks for argument in block.args]


LocalForm = Callable[[Lowering], None]  # turns one op of a program into what it is on one shard
