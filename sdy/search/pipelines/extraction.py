"""Programs of some ops of another program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from sdy.dialects.ir.fast_ops import insert_op_before
from sdy.dialects.ir.symbols import MAIN
from sdy.dialects.sdy.ops import MeshOp
from sdy.model.mesh import Mesh
from sdy.partitioner.emit.emitter import Emitter, Style
from sdy.passes.rewriting.insertion import insert
from sdy.passes.rewriting.structural_hash import used_from_outside
from sdy.search.searched_module import MESH_NAME

OpT = TypeVar("OpT", bound=Operation)


@dataclass(slots=True)
class Extraction:
    """A program of some ops of another one. `arguments` has the values of the other one that become its arguments.

    Ops are added to `block` before its end.
    """

    end: ReturnOp = field(default_factory=ReturnOp)
    block: Block = field(init=False)
    emit: Emitter = field(init=False)
    copies: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    arguments: list[SSAValue] = field(default_factory=list[SSAValue])

    def __post_init__(self) -> None:
        self.block = Block([self.end])
        self.emit = Emitter(self.end, Style())

    def argument(self, value: SSAValue, value_type: Attribute | None = None) -> SSAValue:
        """Return a new argument for a value, or for a part of it with another type."""
        self.arguments.append(value)
        return self.block.insert_arg(value_type or value.type, len(self.block.args))

    def append(self, op: OpT) -> OpT:
        """Add an op, and return it."""
        insert_op_before(op, self.end)
        return op

    def add(self, op: Operation, same: Mapping[SSAValue, SSAValue] | None = None) -> Operation:
        """Add a copy of an op. Operands that were not computed are those that are the same, or become arguments."""
        for value in used_from_outside(op):
            source = value
            while source not in self.copies and same is not None and source in same:
                source = same[source]
            self.copies[value] = self.copies[source] if source in self.copies else self.argument(value)
        return self.append(op.clone(self.copies))

    def module(self, returned: Sequence[SSAValue], mesh: Mesh | None = None) -> ModuleOp:
        """Return the module, whose main function returns some values of its block, with a mesh."""
        self.end.operands = returned
        types = FunctionType.from_lists([each.type for each in self.block.args], [each.type for each in returned])
        module = ModuleOp([FuncOp(MAIN, types, Region(self.block))])
        return module if mesh is None else with_mesh(module, mesh)


def with_mesh(module: ModuleOp, mesh: Mesh) -> ModuleOp:
    """Add a mesh to a module, and return it."""
    insert(MeshOp(MESH_NAME, mesh), InsertPoint.at_start(module.body.block), module.location)
    return module
