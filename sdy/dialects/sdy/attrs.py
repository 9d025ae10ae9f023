"""The attributes of the `sdy` dialect. Each holds a value of the model and is printed in the sharding notation.

An attribute whose text begins with `<` is printed as `#sdy.mesh<...>`, any other as `#sdy<manual_axes{...}>`; both
forms
are parsed. Inside op syntax the prefix is omitted. Source: docs/spec/01, 1.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from xdsl.ir import Data, OpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.declared_ops import declared_attributes
from sdy.dialects.sdy.notation import is_at_attribute, read_attribute, read_bracketed, read_rest
from sdy.grammar import parse, write
from sdy.model.axis import AxisList
from sdy.model.checks.check_edges import check_propagation_edges
from sdy.model.checks.check_mesh import check_mesh, check_mesh_axis
from sdy.model.collective import AllToAllParam, AxesPerDim
from sdy.model.mesh import Mesh
from sdy.model.propagation_edges import PropagationEdges
from sdy.model.rule import OpShardingRule
from sdy.model.sharding import TensorSharding

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

    @property
    def text(self) -> str:
        """The value in the sharding notation."""
        return type(self).WRITE(self.data)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.text)


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
    WRITE = str

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


def _part(
    base: type[NotationAttr[Any]], example: str, notation: parse.Notation[Any], write: Callable[[Any], str]
) -> type[NotationAttr[Any]]:
    name = re.split("[^a-z_]", example, maxsplit=1)[0]
    body = {"__module__": __name__, "__doc__": f"`#sdy<{example}>`", "NOTATION": notation, "WRITE": staticmethod(write)}
    return irdl_attr_definition(type(name, (base,), {**body, "name": f"sdy.{name}"}))


# Parts of other attributes. One may also stand alone, as an attribute that nothing reads.
PARTS = (
    _part(PartAttr, 'all_to_all_param{"x"}: 0->1', parse.ALL_TO_ALL_PARAM, write.write_all_to_all_param),
    _part(PartAttr, 'mesh_axis"x"=2', parse.MESH_AXIS, str),
    _part(PartAttr, 'axis_ref"x":(1)2', parse.AXIS_REF, str),
    _part(PartAttr, "sub_axis_info(1)2", parse.SUB_AXIS, str),
    _part(PartAttr, 'dimension_sharding{"x", ?}p1', parse.DIM_SHARDING, str),
    _part(BracketedPartAttr, "tensor_mapping[i, jk]", parse.TENSOR_MAPPING, write.write_tensor_mapping),
    _part(
        BracketedPartAttr,
        'propagation_one_step{step-0 = [{"x" = operand-0 -> [result-0]}]}',
        parse.PROPAGATION_STEP,
        write.write_propagation_step,
    ),
    _part(
        BracketedPartAttr,
        'axis_to_propagation_details{"x" = operand-0 -> [result-0]}',
        parse.AXIS_FLOW,
        write.write_axis_flow,
    ),
)
ATTRIBUTES = [*declared_attributes(__name__), *PARTS]

EDGES = "sdy.propagation_edges"
BLOCK_ARG_EDGES = "sdy.block_arg_propagation_edges"
RESULT_EDGES = "sdy.result_propagation_edges"
ORIGINS = "sdy.sharding_origins"
BLOCK_ARG_ORIGINS = "sdy.block_arg_sharding_origins"
RESULT_ORIGINS = "sdy.result_sharding_origins"
ORIGIN_NAME = "sdy.sharding_origin_name"

RECORDS = frozenset((EDGES, BLOCK_ARG_EDGES, RESULT_EDGES, ORIGINS, BLOCK_ARG_ORIGINS, RESULT_ORIGINS))
