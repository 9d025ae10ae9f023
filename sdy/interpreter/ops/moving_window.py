"""A window that moves over a tensor: all its positions as one view."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.lib.stride_tricks import as_strided
from xdsl.ir import Attribute

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.kernel import KernelContext
from sdy.interpreter.ops.slicing import padded
from sdy.model.shape import StaticShape


@dataclass(frozen=True, slots=True)
class MovingWindow:
    """A window per dim: its size, stride and dilation, and the padding and dilation of the tensor."""

    sizes: StaticShape
    strides: StaticShape
    low: StaticShape
    high: StaticShape
    base_dilations: StaticShape
    window_dilations: StaticShape

    def over(self, context: KernelContext, operand: Array, padding: Array) -> Array:
        """Return a view of the padded tensor: positions of the window, then elements in the window."""
        gaps = tuple(dilation - 1 for dilation in self.base_dilations)
        return self.views(context, padded(context, operand, padding, self.low, self.high, gaps))

    def views(self, context: KernelContext, padded: Array) -> Array:
        """Return the same view of a tensor that is already padded."""
        spans = [(size - 1) * gap + 1 for size, gap in zip(self.sizes, self.window_dilations, strict=True)]
        free = [size - span for size, span in zip(context.local(padded), spans, strict=True)]
        counts = tuple(room // step + 1 if room >= 0 else 0 for room, step in zip(free, self.strides, strict=True))
        steps = padded.strides[context.rank :]
        by_position = tuple(stride * step for stride, step in zip(steps, self.strides, strict=True))
        within = tuple(stride * gap for stride, gap in zip(steps, self.window_dilations, strict=True))
        # As raw bytes, because `as_strided` does not support every dtype of ml_dtypes.
        views = as_strided(
            padded.view(f"V{padded.itemsize}"),
            context.leading(padded) + counts + self.sizes,
            padded.strides[: context.rank] + by_position + within,
            writeable=False,
        )
        return views.view(padded.dtype)


def window_of(
    sizes: StaticShape,
    strides: Attribute | None,
    padding: DenseElementsAttr | None,
    base_dilations: Attribute | None = None,
    window_dilations: Attribute | None = None,
) -> MovingWindow:
    """Return the window of an op's properties; missing ones are 1, or no padding."""
    ones = (1,) * len(sizes)
    amounts = (0,) * (2 * len(sizes)) if padding is None else padding.get_ints()
    return MovingWindow(
        sizes,
        ones if strides is None else ints_of(strides),
        amounts[::2],
        amounts[1::2],
        ones if base_dilations is None else ints_of(base_dilations),
        ones if window_dilations is None else ints_of(window_dilations),
    )
