"""Element types and dtypes of numbers of a finite field, which stand for floats in a run without rounding.

The dtypes are structured, so that NumPy moves, selects and compares such elements for equality as it does floats, and
refuses to compute with them: a kernel that has no form for the field fails, it does not compute something else.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ComplexType
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition

from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.stablehlo.attributes.types import as_tensor

Residues = NDArray[np.float64]

REAL: np.dtype[np.generic] = np.dtype([("residue", np.float64)])
COMPLEX: np.dtype[np.generic] = np.dtype([("real", np.float64), ("imaginary", np.float64)])


@irdl_attr_definition
class FieldType(ParametrizedAttribute, TypeAttribute):
    """The type of an element of a finite field; no text has it."""

    name = "sdy.field"


@irdl_attr_definition
class ComplexFieldType(ParametrizedAttribute, TypeAttribute):
    """The type of a pair of elements of a finite field: real and imaginary part."""

    name = "sdy.complex_field"


def field_type(element_type: Attribute) -> Attribute:
    """Return the type of the field that stands for a type of floats or of complex numbers."""
    return ComplexFieldType() if isinstance(element_type, ComplexType) else FieldType()


def has_field(op: Operation) -> bool:
    """Return whether an operand or a result has elements of a field."""
    return any(_is_of_field(value.type) for value in (*operands_of(op), *op.results))


def _is_of_field(value_type: Attribute) -> bool:
    tensor = as_tensor(value_type)
    return tensor is not None and isinstance(tensor.element_type, FieldType | ComplexFieldType)


def is_field(dtype: np.dtype[np.generic]) -> bool:
    """Return whether elements are those of a field, real or complex."""
    return dtype in (REAL, COMPLEX)


def parts_of(array: NDArray[np.generic]) -> tuple[Residues, ...]:
    """Return views of the residues: of one part of real numbers, of two of complex ones."""
    fields = cast("NDArray[np.void]", array)
    return tuple(np.asarray(fields[name]) for name in array.dtype.names or ())


def of_parts(*parts: Residues) -> NDArray[np.generic]:
    """Return the array of these parts, which broadcast; a single part is viewed, not copied."""
    if len(parts) == 1:
        return np.asarray(parts[0]).view(REAL)
    result = np.empty((*np.broadcast_shapes(*(part.shape for part in parts)), 2))
    result[..., 0], result[..., 1] = parts
    return result.view(COMPLEX)[..., 0]


def conjugated(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return the complex conjugates."""
    real, *imaginary = parts_of(array)
    return of_parts(real, *(0.0 - part for part in imaginary))


def equal_elements(one: NDArray[np.generic], other: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Return for each element whether two arrays are equal, of a field or of other numbers; NaN equals NaN."""
    arrays = (one, other)
    pairs = zip(*map(parts_of, arrays), strict=True) if is_field(one.dtype) else (arrays,)
    same = [(left == right) | ((left != left) & (right != right)) for left, right in pairs]
    return np.logical_and.reduce(same)
