"""Restrict the shardings of program boundaries to axes that divide.

    before  func @main(%a: tensor<6xf32> {[{"x"}]})     "x"=4
    after   func @main(%a: tensor<6xf32> {[{"x":(1)2}]})

A remark lists each change of an argument or a result of the main function.
Source: docs/spec/04, 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.facts.traits import DividesItsShardings, has_fact
from sdy.dialects.ir.context import remark
from sdy.dialects.ir.symbols import MAIN
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.attrs import TensorShardingPerValueAttr
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import (
    argument_sharding,
    function_result_sharding,
    result_shardings,
    set_argument_sharding,
    set_function_result_sharding,
    set_result_shardings,
    set_sharding,
    sharding_of,
)
from sdy.grammar.write import write_sharding
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.sharding import TensorSharding
from sdy.passes.export.close.boundary_shardings import divisible
from sdy.passes.rewriting.call_graph import callee_name
from sdy.passes.rewriting.op_order import keep_order, op_order


@dataclass(frozen=True)
class UpdateNonDivisiblePass(ModulePass):
    """Restrict the shardings of functions, calls and manual computations to axes that divide.

    With `keep_called`, functions that are called keep all axes, as values inside of functions do.
    """

    name = "sdy-update-non-divisible-input-output-shardings"

    keep_called: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Update functions, then calls, then manual computations."""
        meshes = meshes_of(op)
        order = op_order(op)
        calls = order.of(CallOp)
        kept = {callee_name(call) for call in calls} if self.keep_called else ()
        for func in order.of(FuncOp):
            if func.sym_name.data in kept:
                continue
            changes = list(_update_function(func, meshes))
            if func.sym_name.data == MAIN:
                for change in changes:
                    remark(ctx, "SDY-T232", change, func)
        for call in () if self.keep_called else calls:
            shardings = result_shardings(call) or ()
            pairs = zip(shardings, call.result_types, strict=False)
            set_result_shardings(call, tuple(_divisible(sharding, type_, meshes) for sharding, type_ in pairs))
        for computation in order.of(ManualComputationOp):
            _update_computation(computation, meshes)
        for other in order.ops:
            if has_fact(type(other), DividesItsShardings):
                _update_values([*(other.regions[0].block.args if other.regions else ()), *other.results], meshes)
        keep_order(op)


def _update_function(func: FuncOp, meshes: MeshTable) -> Iterator[str]:
    """Update a function, and yield a description of each change."""
    for what, types, read, write in (
        ("argument", func.function_type.inputs, argument_sharding, set_argument_sharding),
        ("result", func.function_type.outputs, function_result_sharding, set_function_result_sharding),
    ):
        for index, value_type in enumerate(types):
            sharding = read(func, index)
            if sharding is not None and (new := _divisible(sharding, value_type, meshes)) != sharding:
                write(func, index, new)
                yield _change(f"{what} {index}", sharding, new, value_type)


def _change(what: str, old: TensorSharding, new: TensorSharding, value_type: Attribute) -> str:
    return f"{what}: {write_sharding(old)} does not divide {value_type}; using {write_sharding(new)}"


def _update_computation(op: ManualComputationOp, meshes: MeshTable) -> None:
    _update_values(op.body.block.args, meshes)
    pairs = zip(op.out_shardings.data, op.result_types, strict=False)
    op.out_shardings = TensorShardingPerValueAttr(
        tuple(_divisible(sharding, value_type, meshes) for sharding, value_type in pairs)
    )


def _update_values(values: Iterable[SSAValue], meshes: MeshTable) -> None:
    for value in values:
        sharding = sharding_of(value)
        if sharding is not None and (new := _divisible(sharding, value.type, meshes)) != sharding:
            set_sharding(value, new)


def _divisible(sharding: TensorSharding, value_type: Attribute, meshes: MeshTable) -> TensorSharding:
    shape, mesh = static_shape(value_type), resolve_mesh(sharding.mesh, meshes)
    return sharding if shape is None or mesh is None else divisible(sharding, shape, mesh)
