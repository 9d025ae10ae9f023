"""Facts about padded values: sizes without padding, contents of the padding, and sizes that values will have.

A value is padded at the end of sharded dims only. Source: docs/spec/06, 0.8.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from sdy.dialects.meshes import meshes_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.model.axis_list import sharded_size
from sdy.model.shape import StaticShape
from sdy.model.sharding import TensorSharding
from sdy.partitioner.on_shards.value_shardings import ValueShardings


class PaddingFacts:
    """The current and the target padding of the values of a module.

    Without planned sizes, the target sizes of a value follow from its sharding, and reshards are collectives already.
    With them, reshards have not been inserted yet, so ops need not be computable on shards.
    """

    def __init__(self, module: ModuleOp, planned: Mapping[SSAValue, StaticShape] | None = None) -> None:
        self.shardings = ValueShardings(meshes_of(module))
        self._planned = None if planned is None else dict(planned)
        self._true_sizes: dict[SSAValue, StaticShape] = {}
        self._zero_padded: set[SSAValue] = set()

    @property
    def is_before_reshards(self) -> bool:
        """Return whether elements may still move between shards."""
        return self._planned is not None

    def true_sizes(self, value: SSAValue) -> StaticShape:
        """Return the sizes of `value` without padding."""
        return self._true_sizes.get(value) or shape_of(value)

    def padded_dims(self, value: SSAValue) -> list[int]:
        """Return the dims of `value` that have padding."""
        own = self._true_sizes.get(value)
        return [] if own is None else [dim for dim, size in enumerate(shape_of(value)) if size != own[dim]]

    def is_padded(self, value: SSAValue) -> bool:
        """Return whether any dim of `value` has padding."""
        return value in self._true_sizes

    def is_zero_padded(self, value: SSAValue) -> bool:
        """Return whether all padding of `value` is known to be zero."""
        return value in self._zero_padded or not self.is_padded(value)

    def record(self, value: SSAValue, true_sizes: StaticShape, *, is_zero: bool = False) -> SSAValue:
        """Store the sizes of `value` without padding, and whether the padding is zero; return `value`."""
        if shape_of(value) != true_sizes:
            self._true_sizes[value] = true_sizes
            if is_zero:
                self._zero_padded.add(value)
        return value

    def even_sizes(self, sizes: StaticShape, sharding: TensorSharding | None) -> StaticShape:
        """Return the sizes, rounded up to multiples of the shard counts."""
        layout = self.shardings.layout(sharding)
        if layout is None:
            return sizes
        counts = [sharded_size(dim.axes, layout.mesh) for dim in layout.sharding.dims]
        return tuple(-(-size // count) * count for size, count in zip(sizes, counts, strict=True))

    def target_sizes(self, value: SSAValue) -> StaticShape:
        """Return the sizes that `value`, a tensor of static shape, is to have."""
        if self._planned is not None:
            return self._planned.get(value, shape_of(value))
        return self.even_sizes(shape_of(value), sharding_of(value))

    def needs_padding(self, value: SSAValue) -> bool:
        """Return whether `value` does not have its target sizes yet."""
        return is_static(value) and self.target_sizes(value) != shape_of(value)

    def keep_sizes(self, value: SSAValue) -> None:
        """Set the target sizes of `value` to its current ones, because its users read a padded copy."""
        if self._planned is not None:
            del self._planned[value]


def is_static(value: SSAValue) -> bool:
    """Return whether `value` is a tensor of static shape."""
    return static_shape(value.type) is not None
