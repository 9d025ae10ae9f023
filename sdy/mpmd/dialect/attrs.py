"""The attributes of the dialect `mpmd`: meshes with names, origins of fragments, and sets of meshes with origins.

Inside op syntax the prefix of an attribute is omitted. The names of meshes have an order, and may carry a memory kind.
Source: docs/spec/07, 2.2 to 2.6, 4.8 and 4.9.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cmp_to_key
from typing import NamedTuple

from xdsl.ir import Data, OpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from sdy.dialects.ir.declared_ops import declared_attributes
from sdy.dialects.sdy.attrs import MeshAttr
from sdy.model.mesh import Mesh

MAX_INT32 = 2**31 - 1
CPU_SUFFIX = "/cpu"
_TRAILING_NUMBER = re.compile(r"[0-9]+\Z")


def _number_of(name: str) -> int | None:
    found = _TRAILING_NUMBER.search(name)
    number = None if found is None else int(found[0])
    return None if number is None or number > MAX_INT32 else number


def comes_before(first: str, second: str) -> bool:
    """Return whether a mesh comes before another: by the numbers at the end of both names, or by the names."""
    numbers = _number_of(first), _number_of(second)
    if numbers[0] is not None and numbers[1] is not None:
        return numbers[0] < numbers[1]
    return first.encode() < second.encode()


def _compare(first: str, second: str) -> int:
    return comes_before(second, first) - comes_before(first, second)


in_mesh_order = cmp_to_key(_compare)  # a key for sorting


def split_memory_kind(name: str) -> tuple[str, str | None]:
    """Return the mesh and the memory kind of `mesh#kind`; the kind is None if none is written."""
    mesh, _, kind = name.partition("#")
    return (mesh, kind) if kind else (name, None)


def is_cpu_mesh(name: str) -> bool:
    """Return whether a mesh is the host next to another mesh, on which nothing is scheduled."""
    return name.endswith(CPU_SUFFIX)


class NamedMesh(NamedTuple):
    """A mesh of a topology and its name."""

    name: str
    mesh: Mesh


class UserOrigin(NamedTuple):
    """The named computation that a fragment comes from, and how often differentiation transposed it."""

    name: str
    transpose_count: int = 0

    def __str__(self) -> str:
        return f'"{self.name}"' + (f"({self.transpose_count})" if self.transpose_count > 0 else "")


class MeshWithOrigins(NamedTuple):
    """A mesh, and the labels that say why a value is needed or can be made there."""

    mesh: str
    origins: tuple[str, ...] = ()

    def __str__(self) -> str:
        labels = ", ".join(f'"{origin}"' for origin in self.origins)
        return f'"{self.mesh}"' + (f"[{labels}]" if self.origins else "")


class Reduction(Enum):
    """The kinds of reductions over values of several meshes. The enum value is the keyword."""

    NONE = "none"
    ADD = "add"
    MAX = "max"
    MIN = "min"
    MUL = "mul"
    OR = "or"
    AND = "and"


def parse_named_mesh(parser: AttrParser) -> NamedMesh:
    """Parse `<"m1" : <["x"=2]>>`, or `#mpmd.named_mesh` in full."""
    with parser.in_angle_brackets():
        name = parser.parse_str_literal()
        parser.parse_punctuation(":")
        return NamedMesh(name, MeshAttr.parse_parameter(parser))


def named_mesh_text(named: NamedMesh) -> str:
    """Return the text that `parse_named_mesh` reads."""
    return f'<"{named.name}" : {named.mesh}>'


def parse_user_origin(parser: AttrParser) -> UserOrigin:
    """Parse `"name"` or `"name"(1)`."""
    name = parser.parse_str_literal()
    if parser.parse_optional_punctuation("(") is None:
        return UserOrigin(name)
    count = parser.parse_integer(allow_boolean=False)
    parser.parse_punctuation(")")
    return UserOrigin(name, count)


def parse_mesh_with_origins(parser: AttrParser) -> MeshWithOrigins:
    """Parse `"m1"` or `"m1"["a", "b"]`."""
    mesh = parser.parse_str_literal()
    origins = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal)
    return MeshWithOrigins(mesh, tuple(origins or ()))


@irdl_attr_definition
class NamedMeshAttr(Data[NamedMesh]):
    """`#mpmd.named_mesh<"m1" : <["x"=2]>>`"""

    name = "mpmd.named_mesh"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> NamedMesh:
        return parse_named_mesh(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(named_mesh_text(self.data))


@irdl_attr_definition
class TopologyAttr(Data[tuple[NamedMesh, ...]]):
    """`#mpmd.topology<<"m1" : <["x"=2]>>, <"m2" : <["x"=2]>>>`"""

    name = "mpmd.topology"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[NamedMesh, ...]:
        return tuple(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, lambda: parse_named_mesh(parser)))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{', '.join(map(named_mesh_text, self.data))}>")

    def verify(self) -> None:
        if not self.data:
            raise VerifyException("a topology must have at least one mesh")

    def mesh(self, name: str) -> Mesh | None:
        """Return the first mesh of this name."""
        return next((named.mesh for named in self.data if named.name == name), None)


@irdl_attr_definition
class UserOriginAttr(Data[UserOrigin]):
    """`#mpmd.user_origin<"f"(1)>`"""

    name = "mpmd.user_origin"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> UserOrigin:
        with parser.in_angle_brackets():
            return parse_user_origin(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


@irdl_attr_definition
class OriginAttr(Data[str], OpaqueSyntaxAttribute):
    """`#mpmd<origin"a">`"""

    name = "mpmd.origin"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        return parser.parse_str_literal()

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f'"{self.data}"')


@irdl_attr_definition
class MeshWithOriginsAttr(Data[MeshWithOrigins], OpaqueSyntaxAttribute):
    """`#mpmd<mesh_with_origins"m1"["a", "b"]>`"""

    name = "mpmd.mesh_with_origins"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MeshWithOrigins:
        return parse_mesh_with_origins(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(str(self.data))


@irdl_attr_definition
class MeshesWithOriginsAttr(Data[tuple[MeshWithOrigins, ...]]):
    """`#mpmd.meshes_with_origins<"m2"["a", "b"], "m1">`"""

    name = "mpmd.meshes_with_origins"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[MeshWithOrigins, ...]:
        parse = parser.parse_comma_separated_list
        return tuple(parse(parser.Delimiter.ANGLE, lambda: parse_mesh_with_origins(parser)))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{', '.join(map(str, self.data))}>")


@irdl_attr_definition
class ReductionAttr(Data[Reduction]):
    """`#mpmd.reduction<add>`"""

    name = "mpmd.reduction"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Reduction:
        with parser.in_angle_brackets():
            return Reduction(parser.expect(lambda: _optional_kind(parser), f"expected one of {_KINDS}"))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.value}>")


_KINDS = ", ".join(kind.value for kind in Reduction)


def _optional_kind(parser: AttrParser) -> str | None:
    return next((kind.value for kind in Reduction if parser.parse_optional_keyword(kind.value)), None)


ATTRIBUTES = declared_attributes(__name__)
