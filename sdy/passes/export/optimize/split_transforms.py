"""Transform one dim after the other where one of them is sharded, so that shards are exchanged rather than gathered.

    before  %1 = fft %0, length = [8, 8]    %0 : tensor<8x8xcomplex<f32>>, [{"x"}, {}]
    after   %1 = fft %0, length = [8]       %1 : [{"x"}, {}]
            %2 = transpose %1               %2 : [{"x"}, {}], after an all-to-all
            %3 = fft %2, length = [8]
            %4 = transpose %3               %4 : [{}, {"x"}]

Requires: closed shardings.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.attributes.enums import FftType, FftTypeAttr
from sdy.dialects.stablehlo.linalg import FftOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.sharding import UNSHARDED, TensorSharding
from sdy.model.sharding_update import with_dim
from sdy.partitioner.emit.emitter import Emitter, Style, ints
from sdy.partitioner.emit.sharded_emitter import annotated
from sdy.partitioner.on_shards.value_shardings import ValueShardings
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_order import forget_order, keep_order, op_order

OF_OTHER_DIMS = {FftType.RFFT: FftType.FFT, FftType.IRFFT: FftType.IFFT}  # a real transform is real along the last one


class SplitTransformsPass(ModulePass):
    """Split Fourier transforms of several dims, of which some but not all are sharded."""

    name = "sdy-split-transforms"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Split one transform after the other."""
        shardings = ValueShardings(meshes_of(op))
        for transform in op_order(op).of(FftOp):
            rank = len(static_shape(transform.operand.type) or ())
            dims = range(rank - len(ints_of(transform.fft_length)), rank)
            sharded = [dim for dim in dims if shardings.shard_count(transform.operand, dim) > 1]
            sharding = sharding_of(transform.operand)
            if sharding is not None and 0 < len(sharded) < len(dims):
                _split(transform, sorted(dims, key=sharded.__contains__), sharding)
                forget_order(op)
        keep_order(op)


def _split(op: FftOp, dims: list[int], sharding: TensorSharding) -> None:
    """Replace a transform by one for each dim: those that are not sharded first, unless a real one has to be.

    The axes of a dim that is about to be transformed move to one that is transformed already, if that is not sharded.
    """
    emit, kind, value, last = Emitter(op, Style()), op.fft_type.data, op.operand, max(dims)
    if kind in OF_OTHER_DIMS:
        dims = sorted(dims, key=lambda dim: (dim == last) == (kind is FftType.IRFFT))
    for number, dim in enumerate(dims):
        own_axes = sharding.dims[dim]
        sharding = with_dim(sharding, dim, UNSHARDED)
        free = next((each for each in dims[:number] if not sharding.dims[each].axes), dim)
        sharding = sharding if free == dim else with_dim(sharding, free, own_axes)
        value = _transformed(emit, op, value, dim, sharding)
    replace_uses(op.result, value)
    erase(op)


def _transformed(emit: Emitter, op: FftOp, value: SSAValue, dim: int, sharding: TensorSharding) -> SSAValue:
    """Return a value that is transformed along one dim, by a transform of the last one, with a sharding."""
    kind, last = op.fft_type.data, len(sharding.dims) - 1
    own = kind if dim == last else OF_OTHER_DIMS.get(kind, kind)
    order = [*range(dim), last, *range(dim + 1, last), dim] if dim < last else []
    swapped = replace(sharding, dims=tuple(sharding.dims[each] for each in order)) if order else sharding
    value = annotated(emit.transpose(value, order), swapped) if order else value
    tensor = op.result.type if own in OF_OTHER_DIMS else value.type
    length = ints(ints_of(op.fft_length)[dim - last - 1 :][:1])
    value = annotated(emit.value(FftOp, [value], tensor, {"fft_type": FftTypeAttr(own), "fft_length": length}), swapped)
    return annotated(emit.transpose(value, order), sharding) if order else value
