"""Reads a sharding in any notation, writes it in all of them, and computes the local shape and size of a tensor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Protocol, runtime_checkable

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import counted
from sdy.grammar.errors import NotationError, SourceText
from sdy.grammar.hlo_text import read_hlo_sharding, write_hlo_sharding
from sdy.grammar.parse import MESH, TENSOR_SHARDING
from sdy.grammar.partition_spec import read_partition_spec, write_partition_spec
from sdy.grammar.placements import IS_PLACEMENTS, read_placements, write_placements
from sdy.grammar.subscripts import read_subscripts, write_subscripts
from sdy.grammar.write import write_sharding
from sdy.model.axis_list import sharded_size
from sdy.model.checks.check_sharding import check_sharding
from sdy.model.devices.hlo_sharding import Maximal, Tiled, hlo_of_sharding, mesh_of_hlo, sharding_of_hlo
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.shape import local_shape
from sdy.model.sharding import DimSharding, ReductionKind, TensorSharding

_TENSOR = re.compile(
    r"(?P<type>[a-z][A-Za-z0-9]*)\[(?P<dims>[\d\s,]*)\]|(?P<mlir_dims>(?:\d+x)*)(?P<mlir_type>[a-z]\w*)"
)
_AXIS = re.compile(r'\s*"?(?P<name>[^\s"=,]+)"?\s*=\s*(?P<size>\d+)\s*')
_BOOLEANS = ("pred", "i1")  # stored as one byte per element

NotationRow = tuple[str, str]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """The type of a tensor, written as `f32[1024,4096]`; `bits` is the size of one element."""

    element: str
    bits: int
    shape: tuple[int, ...]

    def bytes(self, shape: tuple[int, ...]) -> int:
        """Return the size of a tensor of another shape."""
        return -(-prod(shape) * self.bits // 8)

    def text(self, shape: tuple[int, ...]) -> str:
        """Return the type with another shape, followed by its size in bytes."""
        return f"{self.element}[{','.join(map(str, shape))}], {self.bytes(shape):,} bytes"


def read_tensor(text: str) -> TensorSpec:
    """Parse `f32[1024,4096]`, or `1024x4096xf32` as in MLIR. Raises: SdyError SDY-T206 if the text is neither."""
    match = _TENSOR.fullmatch(text.strip())
    element = match and (match["type"] or match["mlir_type"])
    bits = re.search(r"\d+", element) if element else None
    if match is None or element is None or (bits is None and element not in _BOOLEANS):
        hint = "write f32[1024,4096] or 1024x4096xf32"
        raise SdyError(Diagnostic("SDY-T206", f"expected a tensor type, got {text!r}", hint=hint))
    sizes = match["dims"].split(",") if match["dims"] else (match["mlir_dims"] or "").split("x")
    shape = tuple(int(size) for size in sizes if size.strip())
    return TensorSpec(element, 8 if element in _BOOLEANS or bits is None else int(bits[0]), shape)


def read_mesh(text: str) -> Mesh:
    """Parse a mesh, written as `x=4,y=2` or in the notation of sdy. Raises: SdyError if it is malformed."""
    if text.lstrip().startswith("<"):
        return MESH.parse(text, "--mesh")
    axes = [_AXIS.fullmatch(part) for part in text.split(",")]
    if not all(axes):
        raise SdyError(Diagnostic("SDY-P101", f"mesh: expected axes such as data=16,model=4, got {text!r}"))
    quoted = ", ".join(f'"{axis["name"]}"={axis["size"]}' for axis in axes if axis)
    return MESH.parse(f"<[{quoted}]>", "--mesh")


class JaxMesh(Protocol):
    """The part of a `Mesh` or an `AbstractMesh` of JAX that is read here."""

    @property
    def shape(self) -> Mapping[str, int]:
        """The size of each axis by its name."""
        ...

    @property
    def devices(self) -> Any:
        """The array of devices; a mistake in an `AbstractMesh`."""
        ...


class PartitionSpec(Protocol):
    """A PartitionSpec of JAX, which is written as it is typed."""

    def __iter__(self) -> Iterator[object]: ...


@runtime_checkable
class NamedSharding(Protocol):
    """The part of a NamedSharding of JAX that is read here."""

    @property
    def mesh(self) -> JaxMesh:
        """The mesh."""
        ...

    @property
    def spec(self) -> PartitionSpec:
        """The axes of each dim."""
        ...


def mesh_of(mesh: Mesh | JaxMesh | str) -> Mesh:
    """Return a mesh, one of JAX or one given as text, as a mesh of sdy. Raises: SdyError if it is malformed."""
    if isinstance(mesh, str):
        return read_mesh(mesh)
    if isinstance(mesh, Mesh):
        return mesh
    devices = () if type(mesh).__name__ == "AbstractMesh" else tuple(device.id for device in mesh.devices.flat)
    return Mesh(tuple(MeshAxis(name, size) for name, size in mesh.shape.items()), devices)


def read_any(text: str, mesh: Mesh | None, rank: int | None) -> tuple[TensorSharding, Mesh]:
    """Parse a sharding in any notation, and return it with its mesh.

    HLO shardings, and sdy shardings with an inline mesh, need no `mesh`.
    Raises: SdyError if the text is malformed, if it does not match the mesh, or if the mesh is unknown.
    """
    try:
        return checked(*_read(text, mesh, rank), rank)
    except NotationError as error:
        raise SourceText("TEXT", text).error(error) from None


def _read(text: str, mesh: Mesh | None, rank: int | None) -> tuple[TensorSharding, Mesh]:
    if text.lstrip().startswith("{"):
        return _read_hlo(text, mesh, rank)
    if text.lstrip().startswith("<"):
        sharding = TENSOR_SHARDING.read(text)
        if isinstance(sharding.mesh, Mesh):
            return sharding, sharding.mesh
        return sharding, _required(mesh)
    if re.match(r"\s*(P|PartitionSpec|jax\.[\w.]+)\s*\(", text):
        spec = read_partition_spec(text, _required(mesh))
        unsharded = (DimSharding(),) * ((rank or 0) - spec.rank)  # JAX omits trailing unsharded dims
        return replace(spec, dims=(*spec.dims, *unsharded)), _required(mesh)
    if IS_PLACEMENTS.fullmatch(text):
        return read_placements(text, _required(mesh), rank), _required(mesh)
    return read_subscripts(text, _required(mesh)), _required(mesh)


def _read_hlo(text: str, mesh: Mesh | None, rank: int | None) -> tuple[TensorSharding, Mesh]:
    hlo = read_hlo_sharding(text)
    dims = len(hlo.tiles) if isinstance(hlo, Tiled) else rank or 0
    hlo_mesh = mesh_of_hlo(hlo) if mesh is None else mesh
    sharding = sharding_of_hlo(hlo, hlo_mesh, dims)
    if sharding is None:
        what = "any mesh" if mesh is None or isinstance(hlo, Maximal) else f"the mesh {hlo_mesh}"
        message = f"{write_hlo_sharding(hlo)} cannot be expressed with the axes of {what}"
        raise NotationError("SDY-T207", message, 0, len(text))
    return sharding, hlo_mesh


def _required(mesh: Mesh | None) -> Mesh:
    if mesh is None:
        raise SdyError(Diagnostic("SDY-T208", "a sharding with axis names requires a mesh", hint="--mesh x=4,y=2"))
    return mesh


def checked(sharding: TensorSharding, mesh: Mesh, rank: int | None) -> tuple[TensorSharding, Mesh]:
    """Return the sharding with `mesh` inline. Raises: SdyError if it does not match the mesh or the rank."""
    inline = replace(sharding, mesh=mesh)
    shape = (None,) * (sharding.rank if rank is None or mesh.is_maximal else rank)
    problem = check_sharding(inline, shape, mesh)
    if problem is not None:
        raise SdyError(problem)
    return inline, mesh


def notations(sharding: TensorSharding, mesh: Mesh, tensor: TensorSpec | None) -> Iterator[NotationRow]:
    """Yield labels and texts: the sharding in each notation, the mesh, and the global and local type of the tensor."""
    yield "sdy", write_sharding(replace(sharding, mesh="mesh"))
    yield "PartitionSpec", "-" if mesh.is_maximal else write_partition_spec(sharding)
    yield "HloSharding", write_hlo_sharding(hlo_of_sharding(sharding, mesh))
    yield "subscripts", "-" if mesh.is_maximal else write_subscripts(sharding)
    yield "placements", "-" if mesh.is_maximal else write_placements(sharding, mesh) or "-"
    if sharding.unreduced and sharding.unreduced_kind is not ReductionKind.SUM:
        yield "reduction", f"{sharding.unreduced_kind.value}, which only sdy can express; other notations mean a sum"
    yield "@mesh", f"{mesh}, {mesh.device_count} devices"
    if tensor is not None:
        yield "global type", tensor.text(tensor.shape)
        local = tuple(size or 0 for size in local_shape(tensor.shape, sharding, mesh) or ())
        yield "local type", tensor.text(local)
        shards = sharded_size((*sharding.unreduced, *(axis for dim in sharding.dims for axis in dim.axes)), mesh)
        devices, copies = mesh.device_count, mesh.device_count // shards
        noun = "copy" if copies == 1 else "copies"
        total = f"{devices * tensor.bytes(local):,} bytes on {counted(devices, 'device')}"
        yield "in all", f"{total}, {copies:,} {noun} of each shard"
