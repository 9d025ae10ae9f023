"""The windows of convolutions and pooling along each dim, and the other attributes of these ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.ir import Operation

from sdy.dialects.stablehlo.window import ConvolutionOp, ReduceWindowOp, SelectAndScatterOp
from sdy.evidence.proof.compute import Computation
from sdy.evidence.proof.factors import Factors, ints
from sdy.evidence.proof.terms import Shape, Term
from sdy.evidence.proof.walk import Walk, element_of, shape_of


class Along(NamedTuple):
    """The windows along a dim: their size, the distances between windows and in them, gaps in the input, padding."""

    dim: int
    result_dim: int
    size: int
    stride: int
    step: int
    gap: int
    low: int
    high: int

    @property
    def span(self) -> int:
        """The number of positions from the first to the last element of a window."""
        return (self.size - 1) * self.step + 1

    def count(self, elements: int) -> int:
        """Return the number of windows of so many elements."""
        return ((elements - 1) * self.gap + 1 + self.low + self.high - self.span) // self.stride + 1

    def shape(self, size: int) -> Along:
        """Return the windows with another size, without padding."""
        return self._replace(size=size, low=0, high=0)


class WindowAttributes(NamedTuple):
    """The attributes of a convolution or pooling op: the windows along dims, and the rest."""

    rest: object
    along: tuple[Along, ...]


CONVOLUTION_WINDOWS = ("padding", "window_strides", "lhs_dilation", "rhs_dilation")


def convolution_windows(op: ConvolutionOp) -> tuple[Along, ...]:
    """Return the windows along the spatial dims of a convolution."""
    numbers, kernel = op.dimension_numbers.data, shape_of(op.rhs)
    sizes = [kernel[dim] for dim in numbers.kernel_spatial_dimensions]
    dims = zip(numbers.input_spatial_dimensions, numbers.output_spatial_dimensions, sizes, strict=True)
    names = ("window_strides", "rhs_dilation", "lhs_dilation")
    return tuple(_along(op, names, index, *each) for index, each in enumerate(dims))


def pooling_windows(op: ReduceWindowOp | SelectAndScatterOp) -> tuple[Along, ...]:
    """Return the windows of a pooling op along the dims that have others than those of single elements."""
    names = ("window_strides", "window_dilations", "base_dilations")
    sizes = ints(op, "window_dimensions") or (1,) * len(shape_of(op.operands[0]))
    every = (_along(op, names, dim, dim, dim, size) for dim, size in enumerate(sizes))
    return tuple(each for each in every if each[2:] != (1, 1, each.step, 1, 0, 0))


def _along(op: Operation, names: Sequence[str], index: int, dim: int, result_dim: int, size: int) -> Along:
    stride, step, gap = ((ints(op, name) or (1,) * (index + 1))[index] for name in names)
    low, high = (ints(op, "padding") or (0,) * (2 * index + 2))[2 * index : 2 * index + 2]
    return Along(dim, result_dim, size, stride, step if size > 1 else 1, gap, low, high)


SharedOut = frozenset[int]  # dims of the input along which devices have parts of the kernel


@dataclass(frozen=True, slots=True)
class Windowed:
    """An op on windows of its first operand: its attributes, and its factors given the attributes.

    `pads` tells whether the op pads with a scalar. `kernel_dims` are the dims of the second operand that are those of
    windows, by the dims of the input.
    """

    op: Operation
    attributes: WindowAttributes
    factors: Callable[[WindowAttributes, SharedOut], Factors]
    pads: Callable[[Term], bool]
    kernel_dims: dict[int, int] = field(default_factory=dict[int, int])

    def computation(
        self, walk: Walk, attributes: WindowAttributes, shape: Shape, shared_out: SharedOut = frozenset()
    ) -> Computation:
        """Return the computation of a result of a shape."""
        factors, element = self.factors(attributes, shared_out), element_of(self.op.results[0])
        return Computation(self.op.name, factors, (shape,), (element,), walk.devices)
