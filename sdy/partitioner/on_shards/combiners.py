"""Combiners, the ops with which reductions, scatters and collectives combine values, and their identity elements."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import Signedness, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from sdy.dialects.constants.elements import ComplexCodec, FloatCodec, IntCodec, Scalar, codec_of
from sdy.dialects.facts.traits import Identity, as_combiner
from sdy.dialects.splats import splat_of
from sdy.dialects.stablehlo.attributes.types import element_type_of
from sdy.dialects.stablehlo.control import ReturnOp
from sdy.dialects.stablehlo.elementwise import AddOp, BinaryOp, MaximumOp, MinimumOp
from sdy.model.sharding import ReductionKind

CombinerClass = type[Operation]

# The op that the partitioner inserts for each kind of reduction.
COMBINER_OF_KIND: dict[ReductionKind, type[BinaryOp]] = {
    ReductionKind.SUM: AddOp,
    ReductionKind.MAX: MaximumOp,
    ReductionKind.MIN: MinimumOp,
}


def combining_body(combiner: CombinerClass, element_type: Attribute) -> Region:
    """Return a region that applies `combiner` to its two scalar arguments."""
    scalar = TensorType(element_type, [])
    block = Block(arg_types=[scalar, scalar])
    combined = combiner.create(operands=block.args, result_types=[scalar])
    block.add_ops([combined, ReturnOp.create(operands=combined.results)])
    return Region(block)


def identity_element(combiner: CombinerClass, element_type: Attribute) -> Scalar:
    """Return the identity element of `combiner`. For sums of floats it is -0.0, because -0.0 + 0.0 is 0.0."""
    fact = as_combiner(combiner)
    assert fact is not None
    match fact.identity:
        case Identity.LEAST | Identity.LARGEST as end:
            return extreme(element_type, largest=end is Identity.LARGEST)
        case Identity.ONE:
            return 1
        case Identity.ALL_ONES:
            return _all_ones(element_type)
        case Identity.ZERO:
            codec = codec_of(element_type)
            if isinstance(codec, ComplexCodec):
                return complex(-0.0, -0.0)
            return -0.0 if isinstance(codec, FloatCodec) else 0


def _all_ones(element_type: Attribute) -> int:
    codec = codec_of(element_type)
    assert isinstance(codec, IntCodec)  # verified
    return codec.decode(b"\xff" * codec.byte_width)


def extreme(element_type: Attribute, *, largest: bool) -> Scalar:
    """Return the largest or the smallest value of a type that is not complex: an infinity if the type has them."""
    codec = codec_of(element_type)
    if isinstance(codec, IntCodec):
        if codec.signedness is Signedness.UNSIGNED or codec.bit_width == 1:
            return (1 << codec.bit_width) - 1 if largest else 0
        return (1 << (codec.bit_width - 1)) - 1 if largest else -(1 << (codec.bit_width - 1))
    assert isinstance(codec, FloatCodec)  # complex numbers are not ordered
    infinity = math.inf if largest else -math.inf
    return infinity if codec.decode(codec.encode(infinity)) == infinity else _largest_finite(codec, infinity)


def index_bounds(element_type: Attribute) -> tuple[int, int]:
    """Return the smallest and the largest index that a type of indices, which are integers, can represent."""
    least, largest = (extreme(element_type, largest=is_largest) for is_largest in (False, True))
    assert isinstance(least, int)
    assert isinstance(largest, int)
    return least, largest


def _largest_finite(codec: FloatCodec, infinity: float) -> float:
    """Return the largest finite value with the sign of `infinity`, for a format without infinities."""
    values = (codec.decode(bits.to_bytes(codec.byte_width, "little")) for bits in range(1 << codec.bit_width))
    finite = [value for value in values if math.isfinite(value)]
    return max(finite) if infinity > 0 else min(finite)


def constant_scalar(value: SSAValue) -> Scalar | None:
    """Return the element of a splat constant, also through broadcasts and reshapes, None for every other value."""
    found = splat_of(value)
    return None if found is None else found.data.codec.decode(found.data.raw)


def may_repeat(init: SSAValue, combiner: CombinerClass) -> bool:
    """Return whether an initial value may be combined several times without changing the result."""
    fact = as_combiner(combiner)
    is_idempotent = fact is not None and fact.is_idempotent
    return is_idempotent or constant_scalar(init) == identity_element(combiner, element_type_of(init))
