"""The attributes of the `sdy` dialect. Each holds a value of the model and is printed in the sharding notation.

An attribute whose text begins with `<` is printed as `#sdy.mesh<...>`, any other as `#sdy<manual_axes{...}>`; both
forms
are parsed. Inside op syntax the prefix is omitted. Source: docs/spec/01, 1.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from xdsl.ir import Attribute, Data, OpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.sdy.notation import is_at_attribute, read_attribute, read_bracketed, read_rest
from sdy.grammar import parse, write
from sdy.model.axis import AxisList, AxisRef, SubAxis
from sdy.model.checks.check_edges import check_propagation_edges
from sdy.model.checks.check_mesh import check_mesh, check_mesh_axis
from sdy.model.collective import AllToAllParam, AxesPerDim
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.propagation_edges import AxisFlow, PropagationEdges, PropagationStep
from sdy.model.rule import OpShardingRule, TensorMapping
from sdy.model.sharding import DimSharding, TensorSharding

T = TypeVar("T")


class NotationAttr(Data[T]):
    """An attribute that holds a value of the model, which `NOTATION` reads and `WRITE` prints.

    Where it is expected, it may be written in the long form of attributes, or as an alias.
    """

    NOTATION: ClassVar[parse.Notation[Any]]
    WRITE: ClassVar[Callable[[Any], str]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> T:
        if is_at_attribute(parser):
            return read_attribute(parser, cls).data
        return read_bracketed(parser, cls.NOTATION)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(type(self).WRITE(self.data))


class PartAttr(NotationAttr[T], OpaqueSyntaxAttribute):
    """An attribute that is only written in the form `#sdy<name...>`: a part of another one."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> T:
        return read_rest(parser, cls.NOTATION)


class BracketedPartAttr(NotationAttr[T], OpaqueSyntaxAttribute):
    """A `PartAttr` whose text is in brackets."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> T:
        return read_bracketed(parser, cls.NOTATION)


@irdl_attr_definition
class MeshAttr(NotationAttr[Mesh]):
    """`#sdy.mesh<["x"=2, "y"=4]>`"""

    name = "sdy.mesh"
    NOTATION = parse.MESH
    WRITE = staticmethod(write.write_mesh)

    def verify(self) -> None:
        problem = next((problem for axis in self.data.axes if (problem := check_mesh_axis(axis))), None)
        if problem := problem or check_mesh(self.data.axes, self.data.device_ids):
            raise SdyError(problem)


@irdl_attr_definition
class TensorShardingAttr(NotationAttr[TensorSharding]):
    """`#sdy.sharding<@mesh, [{"x"}, {?}]>`"""

    name = "sdy.sharding"
    NOTATION = parse.TENSOR_SHARDING
    WRITE = staticmethod(write.write_sharding)


@irdl_attr_definition
class TensorShardingPerValueAttr(NotationAttr[tuple[TensorSharding, ...]]):
    """`#sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{?}]>]>`"""

    name = "sdy.sharding_per_value"
    NOTATION = parse.SHARDING_PER_VALUE
    WRITE = staticmethod(write.write_sharding_per_value)


@irdl_attr_definition
class OpShardingRuleAttr(NotationAttr[OpShardingRule]):
    """`#sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=2, j=4, k=8} reduction={k}>`"""

    name = "sdy.op_sharding_rule"
    NOTATION = parse.OP_SHARDING_RULE
    WRITE = staticmethod(write.write_rule)


@irdl_attr_definition
class PropagationEdgesAttr(NotationAttr[PropagationEdges]):
    """`#sdy.propagation_edges<[{step-0 = [{"x" = operand-0 -> [result-0]}]}]>`"""

    name = "sdy.propagation_edges"
    NOTATION = parse.PROPAGATION_EDGES
    WRITE = staticmethod(write.write_propagation_edges)

    def verify(self) -> None:
        if problem := check_propagation_edges(self.data):
            raise SdyError(problem)


@irdl_attr_definition
class ManualAxesAttr(NotationAttr[tuple[str, ...]], OpaqueSyntaxAttribute):
    """`#sdy<manual_axes{"x", "y"}>`"""

    name = "sdy.manual_axes"
    NOTATION = parse.MANUAL_AXES
    WRITE = staticmethod(write.write_manual_axes)


@irdl_attr_definition
class AxisListAttr(NotationAttr[AxisList], OpaqueSyntaxAttribute):
    """`#sdy<axis_ref_list{"x", "y":(1)2}>`"""

    name = "sdy.axis_ref_list"
    NOTATION = parse.AXIS_LIST
    WRITE = staticmethod(write.write_axis_list)


@irdl_attr_definition
class AxesPerDimAttr(NotationAttr[AxesPerDim], OpaqueSyntaxAttribute):
    """`#sdy<list_of_axis_ref_lists[{"x"}, {}]>`"""

    name = "sdy.list_of_axis_ref_lists"
    NOTATION = parse.AXES_PER_DIM
    WRITE = staticmethod(write.write_axes_per_dim)


@irdl_attr_definition
class AllToAllParamsAttr(NotationAttr[tuple[AllToAllParam, ...]], OpaqueSyntaxAttribute):
    """`#sdy<all_to_all_param_list[{"x"}: 0->1]>`"""

    name = "sdy.all_to_all_param_list"
    NOTATION = parse.ALL_TO_ALL_PARAMS
    WRITE = staticmethod(write.write_all_to_all_params)


@irdl_attr_definition
class AllToAllParamAttr(PartAttr[AllToAllParam]):
    """`#sdy<all_to_all_param{"x"}: 0->1>`"""

    name = "sdy.all_to_all_param"
    NOTATION = parse.ALL_TO_ALL_PARAM
    WRITE = staticmethod(write.write_all_to_all_param)


@irdl_attr_definition
class MeshAxisAttr(PartAttr[MeshAxis]):
    """`#sdy<mesh_axis"x"=2>`"""

    name = "sdy.mesh_axis"
    NOTATION = parse.MESH_AXIS
    WRITE = staticmethod(write.write_mesh_axis)


@irdl_attr_definition
class AxisRefAttr(PartAttr[AxisRef]):
    """`#sdy<axis_ref"x":(1)2>`"""

    name = "sdy.axis_ref"
    NOTATION = parse.AXIS_REF
    WRITE = staticmethod(write.write_axis_ref)


@irdl_attr_definition
class SubAxisAttr(PartAttr[SubAxis]):
    """`#sdy<sub_axis_info(1)2>`"""

    name = "sdy.sub_axis_info"
    NOTATION = parse.SUB_AXIS
    WRITE = staticmethod(write.write_sub_axis)


@irdl_attr_definition
class DimShardingAttr(PartAttr[DimSharding]):
    """`#sdy<dimension_sharding{"x", ?}p1>`"""

    name = "sdy.dimension_sharding"
    NOTATION = parse.DIM_SHARDING
    WRITE = staticmethod(write.write_dim_sharding)


@irdl_attr_definition
class TensorMappingAttr(BracketedPartAttr[TensorMapping]):
    """`#sdy<tensor_mapping[i, jk]>`"""

    name = "sdy.tensor_mapping"
    NOTATION = parse.TENSOR_MAPPING
    WRITE = staticmethod(write.write_tensor_mapping)


@irdl_attr_definition
class PropagationStepAttr(BracketedPartAttr[PropagationStep]):
    """`#sdy<propagation_one_step{step-0 = [{"x" = operand-0 -> [result-0]}]}>`"""

    name = "sdy.propagation_one_step"
    NOTATION = parse.PROPAGATION_STEP
    WRITE = staticmethod(write.write_propagation_step)


@irdl_attr_definition
class AxisFlowAttr(BracketedPartAttr[AxisFlow]):
    """`#sdy<axis_to_propagation_details{"x" = operand-0 -> [result-0]}>`"""

    name = "sdy.axis_to_propagation_details"
    NOTATION = parse.AXIS_FLOW
    WRITE = staticmethod(write.write_axis_flow)


ATTRIBUTES: list[type[Attribute]] = [
    AllToAllParamAttr,
    AllToAllParamsAttr,
    AxesPerDimAttr,
    AxisFlowAttr,
    AxisListAttr,
    AxisRefAttr,
    DimShardingAttr,
    ManualAxesAttr,
    MeshAttr,
    MeshAxisAttr,
    OpShardingRuleAttr,
    PropagationEdgesAttr,
    PropagationStepAttr,
    SubAxisAttr,
    TensorMappingAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
]


EDGES = "sdy.propagation_edges"
BLOCK_ARG_EDGES = "sdy.block_arg_propagation_edges"
RESULT_EDGES = "sdy.result_propagation_edges"
ORIGINS = "sdy.sharding_origins"
BLOCK_ARG_ORIGINS = "sdy.block_arg_sharding_origins"
RESULT_ORIGINS = "sdy.result_sharding_origins"
ORIGIN_NAME = "sdy.sharding_origin_name"

RECORDS = frozenset((EDGES, BLOCK_ARG_EDGES, RESULT_EDGES, ORIGINS, BLOCK_ARG_ORIGINS, RESULT_ORIGINS))
