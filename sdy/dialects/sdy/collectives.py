"""The collectives of the `sdy` dialect: each changes the sharding of `tensor` to `out_sharding` by one communication.

`out_sharding` must be the sharding that the parameters produce from that of `tensor`, which verification checks.
Source: docs/spec/01, 5.12 to 5.20.
"""

from __future__ import annotations

from abc import ABC
from itertools import chain
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import VarConstraint, irdl_op_definition, operand_def, prop_def, result_def, traits_def

from sdy.dialects.facts.traits import CollectiveOf, StoresShardings
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.sdy.attrs import AllToAllParamsAttr, AxesPerDimAttr, AxisListAttr, TensorShardingAttr
from sdy.dialects.sdy.declared_syntax import DeclaredSyntaxOp
from sdy.dialects.sdy.enums import enum_attr, enum_value
from sdy.dialects.sdy.types import Shaped
from sdy.model.axis import AxisList
from sdy.model.collective import AllToAllParam, AxesPerDim, CollectiveKind
from sdy.model.sharding import ReductionKind, TensorSharding

_TENSOR_AND_SHARDING = "$tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)"


class CollectiveOp(DeclaredSyntaxOp, ABC):
    """Base class of collectives.

    `MAY_CHANGE_MESH` and `NEEDS_SHARDING` state what verification requires of the operand.
    """

    MAY_CHANGE_MESH: ClassVar[bool] = False
    NEEDS_SHARDING: ClassVar[bool] = True

    T: ClassVar = VarConstraint("T", Shaped)
    tensor = operand_def(T)
    out_sharding = prop_def(TensorShardingAttr)
    result = result_def(T)
    traits = traits_def(StoresShardings(("out_sharding",)))

    def __init__(self, tensor: SSAValue, out_sharding: TensorSharding, **properties: Attribute) -> None:
        super().__init__(
            operands=[tensor],
            result_types=[tensor.type],
            properties={**properties, "out_sharding": TensorShardingAttr(out_sharding)},
        )

    @property
    def axes_attribute(self) -> AxisListAttr | AxesPerDimAttr | AllToAllParamsAttr | None:
        """The attribute with the axes of the op; None for a permute, which names none."""
        for each in self.properties.values():
            if isinstance(each, AxisListAttr | AxesPerDimAttr | AllToAllParamsAttr):
                return each
        return None

    @property
    def listed_axes(self) -> AxisList:
        """The axes that the op names, in order, of all dims together."""
        match self.axes_attribute:
            case None:
                return ()
            case AxisListAttr(data=axes):
                return axes
            case AllToAllParamsAttr(data=params):
                return tuple(axis for param in params for axis in param.axes)
            case AxesPerDimAttr(data=per_dim):
                return tuple(chain.from_iterable(per_dim))


class ReducingOp(CollectiveOp, ABC):
    """Base class of collectives that combine partial values: a sum unless `reduction_op` is set."""

    NEEDS_SHARDING: ClassVar[bool] = False

    reduction_op = prop_def(IntegerAttr.constr(i32), default_value=enum_attr(ReductionKind.SUM))

    @property
    def kind(self) -> ReductionKind | None:
        """The kind of reduction, or None if the attribute is not valid."""
        return enum_value(self.reduction_op, ReductionKind)


@irdl_op_definition
class AllGatherOp(CollectiveOp):
    """Remove `gathering_axes` from the minor end of each dim sharding.

    `%1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>`
    """

    name = "sdy.all_gather"
    traits = traits_def(CollectiveOf(CollectiveKind.ALL_GATHER))
    gathering_axes = prop_def(AxesPerDimAttr)
    SYNTAX: ClassVar[str] = f"$gathering_axes {_TENSOR_AND_SHARDING}"

    def __init__(self, tensor: SSAValue, gathering_axes: AxesPerDim, out_sharding: TensorSharding) -> None:
        super().__init__(tensor, out_sharding, gathering_axes=AxesPerDimAttr(gathering_axes))


@irdl_op_definition
class AllSliceOp(CollectiveOp):
    """Shard each dim further along `slicing_axes`, without communication.

    `%1 = sdy.all_slice [{"x"}, {}] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>`
    """

    name = "sdy.all_slice"
    NEEDS_SHARDING: ClassVar[bool] = False
    slicing_axes = prop_def(AxesPerDimAttr)
    SYNTAX: ClassVar[str] = f"$slicing_axes {_TENSOR_AND_SHARDING}"

    def __init__(self, tensor: SSAValue, slicing_axes: AxesPerDim, out_sharding: TensorSharding) -> None:
        super().__init__(tensor, out_sharding, slicing_axes=AxesPerDimAttr(slicing_axes))


@irdl_op_definition
class AllToAllOp(CollectiveOp):
    """Move axes from the minor end of one dim sharding to that of another, for each of `params`.

    `%1 = sdy.all_to_all [{"x"}: 0->1] %0 out_sharding=<@mesh, [{}, {"x"}]> : tensor<8x8xf32>`
    """

    name = "sdy.all_to_all"
    traits = traits_def(CollectiveOf(CollectiveKind.ALL_TO_ALL))
    params = prop_def(AllToAllParamsAttr)
    SYNTAX: ClassVar[str] = f"$params {_TENSOR_AND_SHARDING}"

    def __init__(self, tensor: SSAValue, params: tuple[AllToAllParam, ...], out_sharding: TensorSharding) -> None:
        super().__init__(tensor, out_sharding, params=AllToAllParamsAttr(params))


@irdl_op_definition
class CollectivePermuteOp(CollectiveOp):
    """Exchange shards between devices: to other axes of the same sizes, or to another device order.

    `%1 = sdy.collective_permute %0 out_sharding=<@mesh, [{"y"}, {}]> : tensor<8x8xf32>`
    """

    name = "sdy.collective_permute"
    traits = traits_def(CollectiveOf(CollectiveKind.COLLECTIVE_PERMUTE))
    MAY_CHANGE_MESH: ClassVar[bool] = True
    SYNTAX: ClassVar[str] = _TENSOR_AND_SHARDING


@irdl_op_definition
class AllReduceOp(ReducingOp):
    """Combine the values along `reduction_axes` and return the result to every device.

    `%1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>`
    """

    name = "sdy.all_reduce"
    traits = traits_def(CollectiveOf(CollectiveKind.ALL_REDUCE))
    reduction_axes = prop_def(AxisListAttr)
    SYNTAX: ClassVar[str] = f"custom<ReductionKindDirective>($reduction_op) $reduction_axes {_TENSOR_AND_SHARDING}"

    def __init__(
        self,
        tensor: SSAValue,
        reduction_axes: AxisList,
        out_sharding: TensorSharding,
        kind: ReductionKind = ReductionKind.SUM,
    ) -> None:
        super().__init__(
            tensor, out_sharding, reduction_axes=AxisListAttr(reduction_axes), reduction_op=enum_attr(kind)
        )


@irdl_op_definition
class ReduceScatterOp(ReducingOp):
    """Combine the values along `reduce_scatter_axes`, and shard each dim of the result along those listed for it.

    `%1 = sdy.reduce_scatter [{"x"}, {}] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>`
    """

    name = "sdy.reduce_scatter"
    traits = traits_def(CollectiveOf(CollectiveKind.REDUCE_SCATTER))
    reduce_scatter_axes = prop_def(AxesPerDimAttr)
    SYNTAX: ClassVar[str] = f"custom<ReductionKindDirective>($reduction_op) $reduce_scatter_axes {_TENSOR_AND_SHARDING}"

    def __init__(
        self,
        tensor: SSAValue,
        reduce_scatter_axes: AxesPerDim,
        out_sharding: TensorSharding,
        kind: ReductionKind = ReductionKind.SUM,
    ) -> None:
        super().__init__(
            tensor,
            out_sharding,
            reduce_scatter_axes=AxesPerDimAttr(reduce_scatter_axes),
            reduction_op=enum_attr(kind),
        )


@irdl_op_definition
class ShardedToUnreducedOp(CollectiveOp):
    """Remove `axes` from the minor end of each dim sharding, and make the tensor unreduced along them.

    `%1 = sdy.sharded_to_unreduced [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>`
    """

    name = "sdy.sharded_to_unreduced"
    axes = prop_def(AxesPerDimAttr)
    SYNTAX: ClassVar[str] = f"$axes {_TENSOR_AND_SHARDING}"

    def __init__(self, tensor: SSAValue, axes: AxesPerDim, out_sharding: TensorSharding) -> None:
        super().__init__(tensor, out_sharding, axes=AxesPerDimAttr(axes))


@irdl_op_definition
class ReplicatedToUnreducedOp(CollectiveOp):
    """Make a replicated tensor unreduced along `axes`: one device keeps the value, the others have zeros.

    `%1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>`
    """

    name = "sdy.replicated_to_unreduced"
    axes = prop_def(AxisListAttr)
    SYNTAX: ClassVar[str] = f"$axes {_TENSOR_AND_SHARDING}"

    def __init__(self, tensor: SSAValue, axes: AxisList, out_sharding: TensorSharding) -> None:
        super().__init__(tensor, out_sharding, axes=AxisListAttr(axes))


OPS = declared_ops(__name__)
