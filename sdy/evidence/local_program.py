"""A program of one device that the user wrote or changed: read, and checked against the program that it stands for."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import counted
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_location import located, span_of
from sdy.dialects.ir.symbols import callers_first, main_function
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import parse_module
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.collectives import CollectivePermuteOp, is_grouped
from sdy.dialects.verification.verify_module import verify_module
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement
from sdy.model.mesh import Mesh
from sdy.model.shape import local_shape

MISFIT = "SDY-V004"


def local_program(text: str, path: str, boundary: ProgramPlacement) -> ModuleOp:
    """Parse and check the program of one device. Raises: SdyError for the first error in the text, or as below."""
    module = parse_module(text, path)
    verify_module(module)
    check_local_program(module, boundary)
    return module


def check_local_program(local: ModuleOp, boundary: ProgramPlacement) -> None:
    """Check that a program can be that of each device of a mesh.

    Raises: SdyError SDY-V004 if its arguments or results are not shards of those of the whole program, or if it names
    a device that the mesh lacks; SDY-T115 if a function calls itself; SDY-L019 if the mesh has very many devices.
    """
    main = main_function(local)
    check_recursion(local)
    kind = main.function_type
    if not main.is_declaration:
        _check_shards(main, "argument", main.body.block.args, boundary.arguments)
    if len(kind.outputs) != len(boundary.results):
        raise _misfit(main, _count_text("result", len(kind.outputs), len(boundary.results)))
    for number, (output, placement) in enumerate(zip(kind.outputs, boundary.results, strict=True)):
        _check_shape(main, f"result {number}", static_shape(output), placement)
    try:
        _check_devices(local, boundary.mesh)
    except SdyError as error:
        raise located(error, main) from error


def _check_shards(
    main: Operation, what: str, values: Sequence[SSAValue], placements: Sequence[TensorPlacement]
) -> None:
    if len(values) != len(placements):
        raise _misfit(main, _count_text(what, len(values), len(placements)))
    for number, (value, placement) in enumerate(zip(values, placements, strict=True)):
        _check_shape(main, f"{what} {number}", static_shape(value.type), placement)


def _count_text(what: str, count: int, expected: int) -> str:
    return f"the local program has {counted(count, what)}, expected {expected}"


def _check_shape(main: Operation, what: str, shape: tuple[int, ...] | None, placement: TensorPlacement) -> None:
    sizes = local_shape(placement.shape, placement.sharding, placement.mesh)
    if shape is not None and sizes is not None and tuple(shape) != tuple(sizes):
        text = f"{what} of the local program has the shape {list(shape)}, expected {list(sizes)}"
        raise _misfit(main, f"{text}, a shard of {list(placement.shape)}")


def check_recursion(module: ModuleOp) -> None:
    """Check that no function of a module calls itself. Raises: SdyError SDY-T115."""
    callers_first(module)


def _check_devices(local: ModuleOp, mesh: Mesh) -> None:
    known = {-1, *mesh.listed_devices()}  # -1 fills groups of different sizes
    for op in pre_order(local):
        if isinstance(op, CollectivePermuteOp):
            table = op.source_target_pairs
        elif is_grouped(op) and isinstance(op.replica_groups, DenseElementsAttr):
            table = op.replica_groups
        else:
            continue
        for device in table.get_ints():
            if device not in known:
                here = counted(mesh.device_count, "device")
                raise _misfit(op, f"{op.name} names device {device}, which is not one of the {here} of the program")


def _misfit(op: Operation, message: str) -> SdyError:
    return SdyError(Diagnostic(MISFIT, message, span_of(op)))
