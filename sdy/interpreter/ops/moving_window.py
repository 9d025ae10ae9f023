"""A window that moves over a tensor: all its positions at once, as one view."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.lib.stride_tricks import as_strided
from xdsl.ir import Attribute

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.kernel import KernelContext, Shape
from sdy.interpreter.ops.slicing import padded


@dataclass(frozen=True, slots=True)
class Window:
    """A window and how it moves, per dim: its size and step, padding around the tensor, and gaps in both."""

    sizes: Shape
    strides: Shape
    low: Shape
    high: Shape
    base_dilations: Shape
    window_dilations: Shape

    def placed_on(self, context: KernelContext, operand: Array, padding: Array) -> Array:
        """A view of the padded tensor: the positions of the window, then the elements within the window."""
        gaps = tuple(dilation - 1 for dilation in self.base_dilations)
        return self.views(context, padded(context, operand, padding, self.low, self.high, gaps))

    def views(self, context: KernelContext, whole: Array) -> Array:
        """A view of a tensor that is padded already."""
        spans = [(size - 1) * gap + 1 for size, gap in zip(self.sizes, self.window_dilations, strict=True)]
        free = [size - span for size, span in zip(context.local(whole), spans, strict=True)]
        counts = tuple(room // step + 1 if room >= 0 else 0 for room, step in zip(free, self.strides, strict=True))
        steps = whole.strides[context.rank :]
        by_position = tuple(stride * step for stride, step in zip(steps, self.strides, strict=True))
        within = tuple(stride * gap for stride, gap in zip(steps, self.window_dilations, strict=True))
        # As bytes without a meaning, because not every dtype of ml_dtypes can name itself to `as_strided`.
        views = as_strided(
            whole.view(f"V{whole.itemsize}"),
            context.leading(whole) + counts + self.sizes,
            whole.strides[: context.rank] + by_position + within,
            writeable=False,
        )
        return views.view(whole.dtype)


def window_of(
    sizes: Shape,
    strides: Attribute | None,
    padding: DenseElementsAttr | None,
    base_dilations: Attribute | None = None,
    window_dilations: Attribute | None = None,
) -> Window:
    """The window that the properties of an op describe; what is left out is 1, or no padding."""
    ones = (1,) * len(sizes)
    amounts = (0,) * (2 * len(sizes)) if padding is None else padding.get_ints()
    return Window(
        sizes,
        ones if strides is None else ints_of(strides),
        amounts[::2],
        amounts[1::2],
        ones if base_dilations is None else ints_of(base_dilations),
        ones if window_dilations is None else ints_of(window_dilations),
    )
