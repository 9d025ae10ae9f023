"""The ops of the dialect `mpmd` without a body: casts, transfers and calls. Source: docs/spec/07, 3."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import ClassVar, Self

from xdsl.dialects.builtin import IntegerAttr, IntegerType, Signedness, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyOf,
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import HasCanonicalizationPatternsTrait, Pure

from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError
from sdy.diagnostics.wording import counted
from sdy.dialects.facts.traits import DividesItsShardings, PassesThrough
from sdy.dialects.host_memory import HOST, MEMORY_KIND, ON_HOST
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import enclosing
from sdy.dialects.sdy.declared_syntax import DeclaredSyntaxOp
from sdy.dialects.text.func_syntax import create_with_signature
from sdy.mpmd.dialect.attrs import Reduction, ReductionAttr
from sdy.mpmd.dialect.functions import (
    check_in_topology,
    check_values,
    failure,
    is_entry_point,
    is_mpmd,
    is_public,
    mesh_named,
    mesh_shape_of,
)
from sdy.mpmd.dialect.syntax import (
    CalleeOp,
    OnMeshOp,
    fragment_header,
    parse_fragment_header,
)
from sdy.mpmd.dialect.types import DEVICE, MeshTensorType, mesh_type
from sdy.mpmd.dialect.value_attributes import value_attribute

ui32 = IntegerType(32, Signedness.UNSIGNED)
CALL_COUNTER = "call_counter"


class CanonicalizedByMpmd(HasCanonicalizationPatternsTrait):
    """A trait of ops whose canonicalization patterns are in `patterns`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return import_module("sdy.mpmd.dialect.patterns").PATTERNS  # which imports the ops


@irdl_op_definition
class NamedTensorOp(DeclaredSyntaxOp):
    """Return the operand, to which the user gave a name: `%1 = mpmd.named_tensor %0 name="split" : tensor<8xf32>`."""

    name = "mpmd.named_tensor"
    T: ClassVar = VarConstraint("T", BaseAttr(TensorType))
    tensor = operand_def(T)
    tensor_name = prop_def(StringAttr, prop_name="name")
    result = result_def(T)
    traits = traits_def(Pure(), PassesThrough())
    SYNTAX: ClassVar[str] = "$tensor `name` `` `=` `` $name attr-dict `:` type($result)"


@irdl_op_definition
class BroadcastOp(DeclaredSyntaxOp):
    """Return the operand, which may be transferred here to each mesh that needs it."""

    name = "mpmd.broadcast"
    T: ClassVar = VarConstraint("T", BaseAttr(TensorType))
    tensor = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure(), PassesThrough(), CanonicalizedByMpmd())
    SYNTAX: ClassVar[str] = "attr-dict $tensor `:` type($result)"


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """Reduce tensors that may be on different meshes: `mpmd.reduce<add> %a, %b : (T, T) -> T`.

    A reduction `none` has one operand, which it returns: the value may be the result of a reduction over meshes.
    """

    name = "mpmd.reduce"
    T: ClassVar = VarConstraint("T", BaseAttr(TensorType))
    tensors = var_operand_def(T)
    reduction = prop_def(ReductionAttr, default_value=ReductionAttr(Reduction.NONE))
    result = result_def(T)
    traits = traits_def(Pure(), CanonicalizedByMpmd())

    def __init__(self, kind: Reduction, tensors: Sequence[SSAValue]) -> None:
        super().__init__(
            operands=[tensors], result_types=[tensors[0].type], properties={"reduction": ReductionAttr(kind)}
        )

    def verify_(self) -> None:
        super().verify_()
        if not self.tensors:
            raise failure(self, "SDY-M002", f"{self.name}: expected 1 or more operands, got 0")
        if self.reduction.data is Reduction.NONE and len(self.tensors) != 1:
            message = f"{self.name}: a reduction of kind none must have 1 operand, got {len(self.tensors)}"
            raise failure(self, "SDY-M002", message)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        kind = ReductionAttr(ReductionAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict()
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        return create_with_signature(cls, parser, operands, {"reduction": kind}, attributes)

    def print(self, printer: Printer) -> None:
        self.reduction.print_parameter(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)


class _CastOp(DeclaredSyntaxOp):
    """The base class of ops that return their operand with another type."""

    irdl_options = (ParsePropInAttrDict(),)
    SYNTAX: ClassVar[str] = "attr-dict $tensor `:` functional-type($tensor, $result)"

    @property
    def source_type(self) -> MeshTensorType:
        """The type of the operand."""
        return mesh_type(self.operands[0].type)

    @property
    def target_type(self) -> MeshTensorType:
        """The type of the result."""
        return mesh_type(self.results[0].type)


@irdl_op_definition
class TransferOp(_CastOp):
    """Move a mesh tensor to another mesh, sharding or memory: `mpmd.transfer %0 : (!mpmd...) -> !mpmd...`."""

    name = "mpmd.transfer"
    tensor = operand_def(MeshTensorType)
    result = result_def(MeshTensorType)
    traits = traits_def(Pure(), PassesThrough(), DividesItsShardings(), CanonicalizedByMpmd())

    def __init__(self, tensor: SSAValue, result_type: MeshTensorType) -> None:
        super().__init__(operands=[tensor], result_types=[result_type])

    def verify_(self) -> None:
        super().verify_()
        if not isinstance(self.parent_op(), FuncOp):
            raise failure(self, "SDY-M002", f"{self.name}: expected func.func as the parent op")
        for value_type in (self.source_type, self.target_type):
            check_in_topology(self, value_type)
        if self.source_type.tensor != self.target_type.tensor:
            message = f"{self.name}: the global tensors must be equal, got {self.source_type} and {self.target_type}"
            raise failure(self, "SDY-M002", message)
        for kind in (self.source_type.memory_kind, self.target_type.memory_kind):
            if kind not in (None, DEVICE, HOST):
                raise failure(self, "SDY-M002", f"{self.name}: expected {HOST} or {DEVICE} as memory kind, got {kind}")
        for value, place in ((self.tensor, "operand"), (self.result, "result")):
            owner = value.owner
            kind = owner.attributes.get(MEMORY_KIND) if isinstance(owner, TransferOp) else None
            if (kind or value_attribute(value, MEMORY_KIND)) == ON_HOST:
                message = f"{self.name}: the memory kind of the {place} is given by an attribute"
                raise failure(self, "SDY-M002", message, "write the memory kind in the type")


class _LocalCastOp(_CastOp):
    """The base class of casts between a local tensor and a mesh tensor that every device of the mesh holds."""

    origin = opt_prop_def(StringAttr)
    traits = traits_def(Pure(), PassesThrough())

    @property
    def mesh(self) -> str:
        """The name of the mesh."""
        return self._types()[1].mesh

    def _types(self) -> tuple[Attribute, MeshTensorType]:
        """Return the type of the local tensor, and that of the mesh tensor."""
        types = [self.operands[0].type, self.results[0].type]
        if isinstance(types[0], MeshTensorType):
            types.reverse()
        return types[0], mesh_type(types[1])

    def verify_(self) -> None:
        super().verify_()
        local, on_mesh = self._types()
        check_in_topology(self, on_mesh)
        if not on_mesh.is_fully_replicated:
            raise failure(self, "SDY-M002", f"{self.name}: the mesh tensor must be fully replicated, got {on_mesh}")
        if on_mesh.tensor != local:
            message = f"{self.name}: the global tensor must have the local type {local}, got {on_mesh.tensor}"
            raise failure(self, "SDY-M002", message)


@irdl_op_definition
class AssignOp(_LocalCastOp):
    """Place a local tensor on a mesh: `mpmd.assign {origin = "x"} %0 : (tensor<8xf32>) -> !mpmd...`."""

    name = "mpmd.assign"
    tensor = operand_def(BaseAttr(TensorType))
    result = result_def(MeshTensorType)

    def __init__(
        self, tensor: SSAValue, mesh: str, origin: str | None = None, *, memory_kind: str | None = None
    ) -> None:
        super().__init__(
            operands=[tensor],
            result_types=[MeshTensorType.of(mesh, tensor.type, memory_kind=memory_kind)],
            properties={"origin": None if origin is None else StringAttr(origin)},
        )


@irdl_op_definition
class UnassignOp(_LocalCastOp):
    """Return the local tensor of a mesh tensor: `mpmd.unassign {origin = "x"} %0 : (!mpmd...) -> tensor<8xf32>`."""

    name = "mpmd.unassign"
    tensor = operand_def(MeshTensorType)
    result = result_def(BaseAttr(TensorType))

    def __init__(self, tensor: SSAValue, origin: str | None = None) -> None:
        super().__init__(
            operands=[tensor],
            result_types=[mesh_type(tensor.type).tensor],
            properties={"origin": None if origin is None else StringAttr(origin)},
        )


_LOCAL_OR_MESH_TENSOR = AnyOf((BaseAttr(TensorType), BaseAttr(MeshTensorType)))


@irdl_op_definition
class CallOp(CalleeOp):
    """Call a function with a topology for one microbatch: `mpmd.call @f(%0) {call_counter = 1 : ui32} : ...`."""

    name = "mpmd.call"
    tensors = var_operand_def(_LOCAL_OR_MESH_TENSOR)
    outputs = var_result_def(_LOCAL_OR_MESH_TENSOR)

    def verify_(self) -> None:
        super().verify_()
        counter = self.attributes.get(CALL_COUNTER)
        if isinstance(counter, IntegerAttr) and counter.type != ui32:
            raise failure(self, "SDY-M003", f"{self.name}: {CALL_COUNTER} must be a ui32, got {counter.type}")
        parent = self.parent_op()
        if parent is None or parent.name not in ("func.func", "mpmd.for"):
            message = f"{self.name}: @{self.callee_name} can only be called directly in a function or in mpmd.for"
            raise failure(self, "SDY-M003", message)
        caller = enclosing(self, FuncOp)
        if caller is not None and is_mpmd(caller) and not is_entry_point(caller):
            message = f"{self.name}: only entry points may call, but @{self.callee_name} is called"
            raise failure(self, "SDY-M003", f"{message} by the private @{caller.sym_name.data}")
        self._check_callee(self.function)

    def _check_callee(self, callee: FuncOp) -> None:
        types = callee.function_type
        for kind, expected, actual in (
            ("operand", types.inputs.data, list(self.operand_types)),
            ("result", types.outputs.data, list(self.result_types)),
        ):
            if len(expected) != len(actual):
                message = f"@{self.callee_name} must be called with {counted(len(expected), kind)}, got {len(actual)}"
                note = Note("the call is here", span_of(self))
                raise SdyError(Diagnostic("SDY-M003", message, span_of(callee), notes=(note,)))
            for index, (required, given) in enumerate(zip(expected, actual, strict=True)):
                if required != given:
                    types = f"{required}, got {given}"
                    message = f"{self.name}: {kind} {index} must have the type of @{self.callee_name}, {types}"
                    raise failure(self, "SDY-M003", message)
        if is_mpmd(callee) and is_public(callee):
            message = f"{self.name}: @{self.callee_name} has a topology and is called, so it must be private"
            raise failure(self, "SDY-M003", message)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.parse_call(parser, {})

    def print(self, printer: Printer) -> None:
        self.print_call(printer)


@irdl_op_definition
class FragmentCallOp(CalleeOp, OnMeshOp):
    """Call a function on one mesh: `mpmd.fragment_call<mesh="m1", origin=["f"]> @f(%0) : ...`."""

    name = "mpmd.fragment_call"
    tensors = var_operand_def(MeshTensorType)
    outputs = var_result_def(MeshTensorType)

    def verify_(self) -> None:
        super().verify_()
        if not isinstance(self.parent_op(), FuncOp):
            raise failure(self, "SDY-M002", f"{self.name}: expected func.func as the parent op")
        callee = self.function
        types = callee.function_type
        mesh = self.mesh
        check_values(self, ("operand", "argument"), list(self.operand_types), types.inputs.data, mesh)
        check_values(self, ("result", "returned value"), list(self.result_types), types.outputs.data, mesh)
        shape, expected = mesh_shape_of(callee), mesh_named(self, mesh)
        if shape != expected:
            message = f"{self.name}: @{self.callee_name} must run on the mesh {mesh}, {expected}, got {shape}"
            raise failure(self, "SDY-M003", message)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.parse_call(parser, parse_fragment_header(parser))

    def print(self, printer: Printer) -> None:
        printer.print_string(fragment_header(self.properties))
        self.print_call(printer)


OPS = declared_ops(__name__)
