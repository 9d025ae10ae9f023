"""The attributes of the `sdy` dialect. Each holds a value of the model and is printed in the sharding notation.

An attribute whose text begins with `<` is printed as `#sdy.mesh<...>`, any other as `#sdy<manual_axes{...}>`; both
forms
are parsed. Inside op syntax the prefix is omitted. Source: docs/spec/01, 1.3.
"""

from __future__ import annotations

from typing import TypeVar

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


def _read(cls: type[Data[T]], parser: AttrParser, notation: parse.Notation[T]) -> T:
    """Parse a value at the parser's position: its notation, or an attribute in the long form."""
    if is_at_attribute(parser):
        return read_attribute(parser, cls).data
    return read_bracketed(parser, notation)


@irdl_attr_definition
class MeshAttr(Data[Mesh]):
    """`#sdy.mesh<["x"=2, "y"=4]>`"""

    name = "sdy.mesh"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Mesh:
        return _read(cls, parser, parse.MESH)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_mesh(self.data))

    def verify(self) -> None:
        problem = next((problem for axis in self.data.axes if (problem := check_mesh_axis(axis))), None)
        if problem := problem or check_mesh(self.data.axes, self.data.device_ids):
            raise SdyError(problem)


@irdl_attr_definition
class TensorShardingAttr(Data[TensorSharding]):
    """`#sdy.sharding<@mesh, [{"x"}, {?}]>`"""

    name = "sdy.sharding"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TensorSharding:
        return _read(cls, parser, parse.TENSOR_SHARDING)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_sharding(self.data))


@irdl_attr_definition
class TensorShardingPerValueAttr(Data[tuple[TensorSharding, ...]]):
    """`#sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{?}]>]>`"""

    name = "sdy.sharding_per_value"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[TensorSharding, ...]:
        return _read(cls, parser, parse.SHARDING_PER_VALUE)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_sharding_per_value(self.data))


@irdl_attr_definition
class OpShardingRuleAttr(Data[OpShardingRule]):
    """`#sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=2, j=4, k=8} reduction={k}>`"""

    name = "sdy.op_sharding_rule"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> OpShardingRule:
        return _read(cls, parser, parse.OP_SHARDING_RULE)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_rule(self.data))


@irdl_attr_definition
class PropagationEdgesAttr(Data[PropagationEdges]):
    """`#sdy.propagation_edges<[{step-0 = [{"x" = operand-0 -> [result-0]}]}]>`"""

    name = "sdy.propagation_edges"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> PropagationEdges:
        return _read(cls, parser, parse.PROPAGATION_EDGES)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_propagation_edges(self.data))

    def verify(self) -> None:
        if problem := check_propagation_edges(self.data):
            raise SdyError(problem)


@irdl_attr_definition
class ManualAxesAttr(Data[tuple[str, ...]], OpaqueSyntaxAttribute):
    """`#sdy<manual_axes{"x", "y"}>`"""

    name = "sdy.manual_axes"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[str, ...]:
        return _read(cls, parser, parse.MANUAL_AXES)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_manual_axes(self.data))


@irdl_attr_definition
class AxisListAttr(Data[AxisList], OpaqueSyntaxAttribute):
    """`#sdy<axis_ref_list{"x", "y":(1)2}>`"""

    name = "sdy.axis_ref_list"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> AxisList:
        return _read(cls, parser, parse.AXIS_LIST)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_axis_list(self.data))


@irdl_attr_definition
class AxesPerDimAttr(Data[AxesPerDim], OpaqueSyntaxAttribute):
    """`#sdy<list_of_axis_ref_lists[{"x"}, {}]>`"""

    name = "sdy.list_of_axis_ref_lists"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> AxesPerDim:
        return _read(cls, parser, parse.AXES_PER_DIM)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_axes_per_dim(self.data))


@irdl_attr_definition
class AllToAllParamsAttr(Data[tuple[AllToAllParam, ...]], OpaqueSyntaxAttribute):
    """`#sdy<all_to_all_param_list[{"x"}: 0->1]>`"""

    name = "sdy.all_to_all_param_list"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[AllToAllParam, ...]:
        return _read(cls, parser, parse.ALL_TO_ALL_PARAMS)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_all_to_all_params(self.data))


@irdl_attr_definition
class AllToAllParamAttr(Data[AllToAllParam], OpaqueSyntaxAttribute):
    """`#sdy<all_to_all_param{"x"}: 0->1>`"""

    name = "sdy.all_to_all_param"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> AllToAllParam:
        return read_rest(parser, parse.ALL_TO_ALL_PARAM)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_all_to_all_param(self.data))


@irdl_attr_definition
class MeshAxisAttr(Data[MeshAxis], OpaqueSyntaxAttribute):
    """`#sdy<mesh_axis"x"=2>`"""

    name = "sdy.mesh_axis"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MeshAxis:
        return read_rest(parser, parse.MESH_AXIS)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_mesh_axis(self.data))


@irdl_attr_definition
class AxisRefAttr(Data[AxisRef], OpaqueSyntaxAttribute):
    """`#sdy<axis_ref"x":(1)2>`"""

    name = "sdy.axis_ref"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> AxisRef:
        return read_rest(parser, parse.AXIS_REF)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_axis_ref(self.data))


@irdl_attr_definition
class SubAxisAttr(Data[SubAxis], OpaqueSyntaxAttribute):
    """`#sdy<sub_axis_info(1)2>`"""

    name = "sdy.sub_axis_info"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SubAxis:
        return read_rest(parser, parse.SUB_AXIS)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_sub_axis(self.data))


@irdl_attr_definition
class DimShardingAttr(Data[DimSharding], OpaqueSyntaxAttribute):
    """`#sdy<dimension_sharding{"x", ?}p1>`"""

    name = "sdy.dimension_sharding"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> DimSharding:
        return read_rest(parser, parse.DIM_SHARDING)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_dim_sharding(self.data))


@irdl_attr_definition
class TensorMappingAttr(Data[TensorMapping], OpaqueSyntaxAttribute):
    """`#sdy<tensor_mapping[i, jk]>`"""

    name = "sdy.tensor_mapping"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TensorMapping:
        return read_bracketed(parser, parse.TENSOR_MAPPING)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_tensor_mapping(self.data))


@irdl_attr_definition
class PropagationStepAttr(Data[PropagationStep], OpaqueSyntaxAttribute):
    """`#sdy<propagation_one_step{step-0 = [{"x" = operand-0 -> [result-0]}]}>`"""

    name = "sdy.propagation_one_step"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> PropagationStep:
        return read_bracketed(parser, parse.PROPAGATION_STEP)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_propagation_step(self.data))


@irdl_attr_definition
class AxisFlowAttr(Data[AxisFlow], OpaqueSyntaxAttribute):
    """`#sdy<axis_to_propagation_details{"x" = operand-0 -> [result-0]}>`"""

    name = "sdy.axis_to_propagation_details"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> AxisFlow:
        return read_bracketed(parser, parse.AXIS_FLOW)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(write.write_axis_flow(self.data))


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
