"""Replica groups given by the axes of a mesh instead of lists of device ids."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.attributes.attrs import parse_int


@dataclass(frozen=True, slots=True)
class HloMeshAxis:
    """A named axis of a mesh."""

    name: str
    size: int

    def __str__(self) -> str:
        return f'<name = "{self.name}", size = {self.size}>'


@dataclass(frozen=True, slots=True)
class HloAxisRef:
    """A reference to an axis, or to its sub-axis `(pre_size)size`."""

    name: str
    sub_axis: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class HloMesh:
    """A mesh: its axes, major first, and the device ids unless they are 0, 1, 2, ..."""

    axes: tuple[HloMeshAxis, ...]
    device_ids: DenseElementsAttr | None = None


@dataclass(frozen=True, slots=True)
class ReplicaGroupMeshAxes:
    """Groups of devices that differ only in their coordinates along these axes.

    `mesh` is a symbol or a mesh attribute.
    """

    mesh: Attribute
    axes: tuple[HloAxisRef, ...]


@irdl_attr_definition
class HloMeshAxisAttr(Data[HloMeshAxis]):
    """`#stablehlo.mesh_axis<name = "x", size = 2>`."""

    name = "stablehlo.mesh_axis"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> HloMeshAxis:
        with parser.in_angle_brackets():
            name = _parse_name(parser)
            parser.parse_punctuation(",")
            parser.parse_keyword("size")
            parser.parse_punctuation("=")
            return HloMeshAxis(name, parse_int(parser))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(str(self.data))


@irdl_attr_definition
class HloAxisRefAttr(Data[HloAxisRef]):
    """`#stablehlo.axis_ref<name = "x">`, or with `, sub_axis_info = (1)2`."""

    name = "stablehlo.axis_ref"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> HloAxisRef:
        with parser.in_angle_brackets():
            name = _parse_name(parser)
            if parser.parse_optional_punctuation(",") is None:
                return HloAxisRef(name)
            parser.parse_keyword("sub_axis_info")
            parser.parse_punctuation("=")
            with parser.in_parens():
                pre_size = parse_int(parser)
            return HloAxisRef(name, (pre_size, parse_int(parser)))

    def print_parameter(self, printer: Printer) -> None:
        sub_axis = self.data.sub_axis
        printed = f", sub_axis_info = ({sub_axis[0]}){sub_axis[1]}" if sub_axis is not None else ""
        printer.print_string(f'<name = "{self.data.name}"{printed}>')


@irdl_attr_definition
class HloMeshAttr(Data[HloMesh]):
    """`#stablehlo.mesh<axes=[<name = "x", size = 2>], device_ids=dense<[1, 0]> : tensor<2xi64>>`."""

    name = "stablehlo.mesh"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> HloMesh:
        with parser.in_angle_brackets():
            parser.parse_keyword("axes")
            parser.parse_punctuation("=")
            axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_axis(parser))
            if parser.parse_optional_punctuation(",") is None:
                return HloMesh(tuple(axes))
            parser.parse_keyword("device_ids")
            parser.parse_punctuation("=")
            position = parser.pos
            device_ids = parser.parse_attribute()
            if not isinstance(device_ids, DenseElementsAttr):
                parser.raise_error("expected dense<...> for device_ids", position, parser.pos)
            return HloMesh(tuple(axes), device_ids)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<axes=[{', '.join(map(str, self.data.axes))}]")
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
            parser.parse_keyword("mesh")
            parser.parse_punctuation("=")
            position = parser.pos
            mesh = parser.parse_attribute()
            if not isinstance(mesh, SymbolRefAttr | HloMeshAttr):
                parser.raise_error("expected a symbol or #stablehlo.mesh<...>", position, parser.pos)
            parser.parse_punctuation(",")
            parser.parse_keyword("axes")
            parser.parse_punctuation("=")
            axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_axis_ref(parser))
            return ReplicaGroupMeshAxes(mesh, tuple(axes))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string("<mesh = ")
        printer.print_attribute(self.data.mesh)
        printer.print_string(", axes = [")
        printer.print_list(map(HloAxisRefAttr, self.data.axes), printer.print_attribute)
        printer.print_string("]>")


def _parse_name(parser: AttrParser) -> str:
    parser.parse_keyword("name")
    parser.parse_punctuation("=")
    return parser.parse_str_literal()


def _parse_axis(parser: AttrParser) -> HloMeshAxis:
    """Parse a mesh axis, with or without the name of its attribute."""
    position = parser.pos
    attribute = parser.parse_optional_attribute()
    if attribute is None:
        return HloMeshAxisAttr.parse_parameter(parser)
    if not isinstance(attribute, HloMeshAxisAttr):
        parser.raise_error('expected a mesh axis, such as <name = "x", size = 2>', position, parser.pos)
    return attribute.data


def _parse_axis_ref(parser: AttrParser) -> HloAxisRef:
    position = parser.pos
    attribute = parser.parse_optional_attribute()
    if attribute is None:
        return HloAxisRefAttr.parse_parameter(parser)
    if not isinstance(attribute, HloAxisRefAttr):
        parser.raise_error('expected an axis reference, such as #stablehlo.axis_ref<name = "x">', position, parser.pos)
    return attribute.data
