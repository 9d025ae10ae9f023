"""Replica groups given by the axes of a mesh instead of lists of device ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, cast

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.attributes.attrs import parse_int, parse_key
from sdy.model.axis import AxisList, AxisRef, SubAxis
from sdy.model.mesh import MeshAxis

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HloMesh:
    """A mesh: its axes, major first, and the device ids unless they are 0, 1, 2, ..."""

    axes: tuple[MeshAxis, ...]
    device_ids: DenseElementsAttr | None = None


@dataclass(frozen=True, slots=True)
class ReplicaGroupMeshAxes:
    """Groups of devices that differ only in their coordinates along these axes.

    `mesh` is a symbol or a mesh attribute.
    """

    mesh: Attribute
    axes: AxisList


@irdl_attr_definition
class HloMeshAxisAttr(Data[MeshAxis]):
    """`#stablehlo.mesh_axis<name = "x", size = 2>`."""

    name = "stablehlo.mesh_axis"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MeshAxis:
        with parser.in_angle_brackets():
            name = _parse_name(parser)
            parser.parse_punctuation(",")
            parse_key(parser, "size")
            return MeshAxis(name, parse_int(parser))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(_axis_text(self.data))


@irdl_attr_definition
class HloAxisRefAttr(Data[AxisRef]):
    """`#stablehlo.axis_ref<name = "x">`, or with `, sub_axis_info = (1)2`."""

    name = "stablehlo.axis_ref"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> AxisRef:
        with parser.in_angle_brackets():
            name = _parse_name(parser)
            if parser.parse_optional_punctuation(",") is None:
                return AxisRef(name)
            parse_key(parser, "sub_axis_info")
            with parser.in_parens():
                pre_size = parse_int(parser)
            return AxisRef(name, SubAxis(pre_size, parse_int(parser)))

    def print_parameter(self, printer: Printer) -> None:
        sub_axis = self.data.sub_axis
        printed = "" if sub_axis is None else f", sub_axis_info = {sub_axis}"
        printer.print_string(f'<name = "{self.data.name}"{printed}>')


@irdl_attr_definition
class HloMeshAttr(Data[HloMesh]):
    """`#stablehlo.mesh<axes=[<name = "x", size = 2>], device_ids=dense<[1, 0]> : tensor<2xi64>>`."""

    name = "stablehlo.mesh"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> HloMesh:
        with parser.in_angle_brackets():
            axes = _parse_axes(parser, HloMeshAxisAttr, 'a mesh axis, such as <name = "x", size = 2>')
            if parser.parse_optional_punctuation(",") is None:
                return HloMesh(axes)
            parse_key(parser, "device_ids")
            position = parser.pos
            device_ids = parser.parse_attribute()
            if not isinstance(device_ids, DenseElementsAttr):
                parser.raise_error("expected dense<...> for device_ids", position, parser.pos)
            return HloMesh(axes, device_ids)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<axes=[{', '.join(map(_axis_text, self.data.axes))}]")
        if self.data.device_ids is not None:
            printer.print_string(", device_ids=")
            printer.print_attribute(self.data.device_ids)
        printer.print_string(">")


@irdl_attr_definition
class ReplicaGroupMeshAxesAttr(Data[ReplicaGroupMeshAxes]):
    """`#stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = "x">]>`."""

    name = "stablehlo.replica_group_mesh_axes"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ReplicaGroupMeshAxes:
        with parser.in_angle_brackets():
            parse_key(parser, "mesh")
            position = parser.pos
            mesh = parser.parse_attribute()
            if not isinstance(mesh, SymbolRefAttr | HloMeshAttr):
                parser.raise_error("expected a symbol or #stablehlo.mesh<...>", position, parser.pos)
            parser.parse_punctuation(",")
            example = 'an axis reference, such as #stablehlo.axis_ref<name = "x">'
            return ReplicaGroupMeshAxes(mesh, _parse_axes(parser, HloAxisRefAttr, example))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string("<mesh = ")
        printer.print_attribute(self.data.mesh)
        printer.print_string(", axes = [")
        printer.print_list(map(HloAxisRefAttr, self.data.axes), printer.print_attribute)
        printer.print_string("]>")


def _axis_text(axis: MeshAxis) -> str:
    return f'<name = "{axis.name}", size = {axis.size}>'


def _parse_name(parser: AttrParser) -> str:
    parse_key(parser, "name")
    return parser.parse_str_literal()


def _parse_axes(parser: AttrParser, attribute_class: type[Data[T]], example: str) -> tuple[T, ...]:
    """Parse `axes = [...]`, a list of the values of attributes, with or without the names of the attributes."""

    def parse_axis() -> T:
        position = parser.pos
        attribute = parser.parse_optional_attribute()
        if attribute is None:
            return attribute_class.parse_parameter(parser)
        if not isinstance(attribute, attribute_class):
            parser.raise_error(f"expected {example}", position, parser.pos)
        return cast("Data[T]", attribute).data

    parse_key(parser, "axes")
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_axis))
