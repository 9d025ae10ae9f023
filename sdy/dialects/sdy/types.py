"""The types that `sdy` ops accept, and the shapes of their values."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
    ShapedType,
    TensorType,
    TupleType,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
)
from xdsl.ir import Attribute
from xdsl.irdl import AnyOf, BaseAttr

from sdy.model.shape import Shape, Shapeless, ValueShape


class TensorLikeType(ShapedType, ABC):
    """Base class of types of other dialects whose values have the shape of a tensor and are sharded like one."""


Shaped = AnyOf(
    (
        BaseAttr(TensorType),
        BaseAttr(TensorLikeType),
        BaseAttr(UnrankedTensorType),
        BaseAttr(VectorType),
        BaseAttr(MemRefType),
        BaseAttr(UnrankedMemRefType),
    )
)


def value_shape(value_type: Attribute) -> ValueShape:
    """Return the shape of a value of this type, as shardings see it. A tuple of one element counts as that element."""
    if type(value_type) is TensorType:  # the common case; comparing classes is much faster than `isinstance`
        return _shape(value_type.get_shape())
    if isinstance(value_type, TupleType):
        elements = value_type.types.data
        return value_shape(elements[0]) if len(elements) == 1 else Shapeless.TUPLE
    if isinstance(value_type, UnrankedTensorType | UnrankedMemRefType):
        return Shapeless.UNRANKED
    return _shape(value_type.get_shape()) if isinstance(value_type, ShapedType) else Shapeless.NOT_SHAPED


def _shape(sizes: tuple[int, ...]) -> Shape:
    return sizes if DYNAMIC_INDEX not in sizes else tuple(None if size == DYNAMIC_INDEX else size for size in sizes)


def rank_of_type(value_type: Attribute) -> int:
    """Return the rank of values of this type, or 0 if they have no shape."""
    shape = value_shape(value_type)
    return 0 if isinstance(shape, Shapeless) else len(shape)
