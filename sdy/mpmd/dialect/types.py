"""The type of tensors that live on a mesh of a topology. Source: docs/spec/07, 2.1."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ContainerType, NoneAttr, StringAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.host_memory import HOST
from sdy.dialects.sdy.attrs import TensorShardingAttr
from sdy.dialects.sdy.types import TensorLikeType
from sdy.grammar.write import write_sharding
from sdy.model.sharding import TensorSharding

DEVICE = "device"  # the memory kind that a value has by default


@irdl_attr_definition
class MeshTensorType(ParametrizedAttribute, TypeAttribute, TensorLikeType, ContainerType[Attribute]):
    """`!mpmd.mesh_tensor<"m1", tensor<4x8xf32>, sharding=<@mesh, [{"x"}, {}]>, memory_kind="pinned_host">`

    The tensor type is the global one. Without a sharding, each device of the mesh holds all of it.
    """

    name = "mpmd.mesh_tensor"
    mesh_name: StringAttr
    tensor: TensorType[Attribute]
    sharding_attr: TensorShardingAttr | NoneAttr
    memory_kind_attr: StringAttr | NoneAttr

    @staticmethod
    def of(
        mesh: str, tensor: Attribute, sharding: TensorSharding | None = None, memory_kind: str | None = None
    ) -> MeshTensorType:
        """Return the type of a tensor on a mesh."""
        return MeshTensorType(
            StringAttr(mesh),
            cast("TensorType[Attribute]", tensor),
            NoneAttr() if sharding is None else TensorShardingAttr(sharding),
            NoneAttr() if memory_kind is None else StringAttr(memory_kind),
        )

    @property
    def mesh(self) -> str:
        """The name of the mesh."""
        return self.mesh_name.data

    @property
    def sharding(self) -> TensorSharding | None:
        """The sharding; None if each device holds the full tensor."""
        return self.sharding_attr.data if isinstance(self.sharding_attr, TensorShardingAttr) else None

    @property
    def memory_kind(self) -> str | None:
        """The memory that holds the tensor; None for the default, the memory of the device."""
        return self.memory_kind_attr.data if isinstance(self.memory_kind_attr, StringAttr) else None

    @property
    def is_on_host(self) -> bool:
        """Return whether the tensor is in the memory of the host."""
        return self.memory_kind == HOST

    @property
    def is_fully_replicated(self) -> bool:
        """Return whether the type has no sharding with axes."""
        return self.sharding is None or self.sharding.has_no_axes

    def with_sharding(self, sharding: TensorSharding | None) -> MeshTensorType:
        """Return the type with another sharding."""
        return MeshTensorType.of(self.mesh, self.tensor, sharding, self.memory_kind)

    def get_num_dims(self) -> int:
        """Return the rank of the tensor."""
        return self.tensor.get_num_dims()

    def get_shape(self) -> tuple[int, ...]:
        """Return the shape of the global tensor."""
        return self.tensor.get_shape()

    def get_element_type(self) -> Attribute:
        """Return the element type."""
        return self.tensor.element_type

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            mesh = parser.parse_str_literal()
            parser.parse_punctuation(",")
            tensor = _parse_tensor(parser)
            sharding: Attribute = NoneAttr()
            memory_kind: Attribute = NoneAttr()
            has_more = parser.parse_optional_punctuation(",") is not None
            if has_more and parser.parse_optional_keyword("sharding") is not None:
                parser.parse_punctuation("=")
                sharding = TensorShardingAttr(TensorShardingAttr.parse_parameter(parser))
                has_more = parser.parse_optional_punctuation(",") is not None
            if has_more:
                parser.parse_keyword("memory_kind")
                parser.parse_punctuation("=")
                memory_kind = StringAttr(parser.parse_str_literal())
        return [StringAttr(mesh), tensor, sharding, memory_kind]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f'<"{self.mesh}", ')
        printer.print_attribute(self.tensor)
        if self.sharding is not None:
            printer.print_string(f", sharding={write_sharding(self.sharding)}")
        if self.memory_kind is not None:
            printer.print_string(", memory_kind=")
            printer.print_attribute(self.memory_kind_attr)
        printer.print_string(">")


def _parse_tensor(parser: AttrParser) -> Attribute:
    start = parser.pos
    tensor = parser.parse_type()
    if not isinstance(tensor, TensorType):
        parser.raise_error(f"expected a ranked tensor type, got {tensor}", start, parser.pos)
    return cast("TensorType[Attribute]", tensor)


def mesh_type(value_type: Attribute) -> MeshTensorType:
    """Return the type of a value on a mesh. Raises: SdyError SDY-M110 if mesh inference has not placed it."""
    if not isinstance(value_type, MeshTensorType):
        hint = "run mpmd-import-pipeline first"
        raise SdyError(Diagnostic("SDY-M110", f"expected a value on a mesh, got one of type {value_type}", hint=hint))
    return value_type


def is_inter_mesh(source: MeshTensorType, target: MeshTensorType) -> bool:
    """Return whether a transfer between the types leaves the mesh or its memory."""
    return (source.mesh, source.memory_kind) != (target.mesh, target.memory_kind)
