"""Ops that combine partial values in any order, and the value that changes nothing."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import Signedness, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from sdy.dialects.elements import ComplexCodec, FloatCodec, IntCodec, Scalar, codec_of
from sdy.dialects.stablehlo.control import ReturnOp
from sdy.dialects.stablehlo.elementwise import (
    AddOp,
    AndOp,
    BinaryOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    OrOp,
    XorOp,
)
from sdy.model.sharding import ReductionKind
from sdy.partitioner.local.emitter import Emitter, Tensor

Combiner = type[Operation]

COMBINER_OF_KIND: dict[ReductionKind, type[BinaryOp]] = {
    ReductionKind.SUM: AddOp,
    ReductionKind.MAX: MaximumOp,
    ReductionKind.MIN: MinimumOp,
}
IN_ANY_ORDER = frozenset[Combiner]((AddOp, AndOp, MaximumOp, MinimumOp, MultiplyOp, OrOp, XorOp))
IDEMPOTENT = frozenset[Combiner]((AndOp, MaximumOp, MinimumOp, OrOp))  # a value may count several times


def combining_body(combiner: Combiner, element_type: Attribute) -> Region:
    """The region that applies an op to its two arguments, which are scalars."""
    scalar = TensorType(element_type, [])
    block = Block(arg_types=[scalar, scalar])
    combined = combiner.create(operands=block.args, result_types=[scalar])
    block.add_ops([combined, ReturnOp.create(operands=combined.results)])
    return Region(block)


def identity(combiner: Combiner, element_type: Attribute) -> Scalar:
    """The element that, combined with any other, gives the other: of sums of floats -0.0, since -0.0 + 0.0 is 0.0."""
    if combiner in (MaximumOp, MinimumOp):
        return extreme(element_type, largest=combiner is MinimumOp)
    if combiner is MultiplyOp:
        return 1
    if combiner is AndOp:
        return _all_ones(element_type)
    assert combiner in IN_ANY_ORDER
    codec = codec_of(element_type)
    if isinstance(codec, ComplexCodec):
        return complex(-0.0, -0.0)
    return -0.0 if isinstance(codec, FloatCodec) else 0


def neutral(emit: Emitter, combiner: Combiner, tensor: Tensor) -> SSAValue:
    """A constant that, combined with any other tensor of the type, gives the other; zeros as the style has them."""
    element = identity(combiner, tensor.element_type)
    return emit.constant(tensor, [element if element or emit.style.keeps_zero_signs else 0])


def _all_ones(element_type: Attribute) -> int:
    codec = codec_of(element_type)
    assert isinstance(codec, IntCodec)  # verified
    return codec.decode(b"\xff" * codec.byte_width)


def extreme(element_type: Attribute, *, largest: bool) -> Scalar:
    """The largest or the least element of a type that is not complex: infinite where the type has infinities."""
    codec = codec_of(element_type)
    if isinstance(codec, IntCodec):
        if codec.signedness is Signedness.UNSIGNED or codec.width == 1:
            return (1 << codec.width) - 1 if largest else 0
        return (1 << (codec.width - 1)) - 1 if largest else -(1 << (codec.width - 1))
    assert isinstance(codec, FloatCodec)  # complex numbers have no order
    infinity = math.inf if largest else -math.inf
    return infinity if codec.decode(codec.encode(infinity)) == infinity else _largest_finite(codec, infinity)


def _largest_finite(codec: FloatCodec, infinity: float) -> float:
    """The finite value next to infinity, of a format that has no infinity."""
    values = (codec.decode(bits.to_bytes(codec.byte_width, "little")) for bits in range(1 << codec.bit_width))
    finite = [value for value in values if math.isfinite(value)]
    return max(finite) if infinity > 0 else min(finite)
