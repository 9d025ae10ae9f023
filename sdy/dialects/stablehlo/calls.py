"""Custom calls and composite ops, the checks of custom calls, and the targets of custom calls that JAX writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TupleType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.facts.traits import SideEffectByProperty
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.ir.op_location import error_at
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.attributes.attrs import DimNumbers, OutputOperandAliasAttr
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.stablehlo.base import OpCheck, StablehloOp
from sdy.dialects.stablehlo.checks.requirements import fail, have_compatible_types, integer
from sdy.dialects.stablehlo.syntax.clauses import PropertyDict
from sdy.dialects.stablehlo.syntax.op_syntax import parse_rest, print_rest
from sdy.dialects.text.func_syntax import parse_optional_operands

LATEST_API_VERSION = 4  # the version whose backend_config is a dictionary


def check_custom_call_config(op: Operation) -> None:
    """Check that `api_version` is known and that `backend_config` has the type which this version takes."""
    version = integer(op, "api_version") if "api_version" in op.properties else 1
    if not 0 <= version <= LATEST_API_VERSION:
        fail(op, "SDY-D016", f"api_version must be from 0 to {LATEST_API_VERSION}, got {version}")
    config = op.properties.get("backend_config")
    if isinstance(config, DictionaryAttr) and version != LATEST_API_VERSION:
        fail(op, "SDY-D016", f"backend_config must be a string for api_version {version}, got a dictionary")


def check_custom_call_layouts(op: Operation) -> None:
    """Check that each operand and result has a layout that orders its dims, and that aliases join equal types."""
    results = op.result_types
    if len(results) == 1 and isinstance(results[0], TupleType):
        results = tuple(results[0].types)
    _check_layouts(op, "operand_layouts", op.operand_types)
    _check_layouts(op, "result_layouts", results)
    aliases = cast("ArrayAttr[OutputOperandAliasAttr] | None", op.properties.get("output_operand_aliases"))
    for alias in aliases or ():
        _check_alias(op, alias)


def _check_layouts(op: Operation, name: str, types: Sequence[Attribute]) -> None:
    layouts = cast("ArrayAttr[DenseElementsAttr] | None", op.properties.get(name))
    if layouts is None:
        return
    if len(layouts) != len(types):
        fail(op, "SDY-D014", f"{name} must have one entry per value: expected {len(types)}, got {len(layouts)}")
    for index, (layout, value_type) in enumerate(zip(layouts, types, strict=True)):
        tensor = as_tensor(value_type)
        rank = 0 if tensor is None else tensor.get_num_dims()
        if layout.data.count != rank or sorted(layout.get_ints()) != [*range(rank)]:
            message = f"entry {index} of {name} must be a permutation of the dims of {value_type}, got {layout}"
            fail(op, "SDY-D016", message)


def _check_alias(op: Operation, attr: OutputOperandAliasAttr) -> None:
    alias = attr.data
    if not 0 <= alias.operand_index < len(op.operands):
        message = f"operand_index of an alias is {alias.operand_index}, but the op has {len(op.operands)} operands"
        fail(op, "SDY-D015", message)
    operand = _tuple_element(op.operand_types[alias.operand_index], alias.operand_tuple_indices)
    indices = alias.output_tuple_indices
    results = list(op.result_types)
    if len(results) > 1 and indices and 0 <= indices[0] < len(results):
        results, indices = [results[indices[0]]], indices[1:]
    output = _tuple_element(results[0], indices) if len(results) == 1 else None
    if operand is None or output is None or not have_compatible_types(operand, output):
        fail(op, "SDY-D013", f"aliased operand and output must have the same type, got {operand} and {output}")


def _tuple_element(value_type: Attribute, indices: DimNumbers) -> Attribute | None:
    """Return the type of an element of nested tuples, or None if `indices` does not name an element."""
    for index in indices:
        if not isinstance(value_type, TupleType) or not 0 <= index < len(value_type.types):
            return None
        value_type = value_type.types.data[index]
    return value_type


@irdl_op_definition
class CustomCallOp(StablehloOp):
    """Call a function of the backend by name.

    `stablehlo.custom_call @target(%0) {has_side_effect = true} : (tensor<2xf32>) -> tensor<2xf32>`
    """

    name = "stablehlo.custom_call"
    inputs = var_operand_def()
    call_target_name = prop_def(StringAttr)
    has_side_effect = opt_prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    backend_config = opt_prop_def(StringAttr | BytesAttr | DictionaryAttr)  # a string of any bytes
    api_version = opt_prop_def(IntegerAttr.constr(i32), default_value=IntegerAttr(1, i32))
    called_computations = opt_prop_def(ArrayAttr[SymbolRefAttr], default_value=ArrayAttr[SymbolRefAttr]([]))
    operand_layouts = opt_prop_def(ArrayAttr[DenseElementsAttr])
    result_layouts = opt_prop_def(ArrayAttr[DenseElementsAttr])
    output_operand_aliases = opt_prop_def(
        ArrayAttr[OutputOperandAliasAttr], default_value=ArrayAttr[OutputOperandAliasAttr]([])
    )
    result = var_result_def()
    traits = traits_def(SideEffectByProperty())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_custom_call_config, check_custom_call_layouts)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: PropertyDict = {"call_target_name": parser.parse_symbol_name()}
        operands = parser.parse_op_args_list()
        return parse_rest(cls, parser, operands, properties)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.call_target_name.data)
        printer.print_operands(self.operands)
        print_rest(self, printer, frozenset(("call_target_name",)))


def is_lapack_call(op: CustomCallOp) -> bool:
    """Return whether the call is one of the routines of LAPACK to which JAX lowers `jax.numpy.linalg` on a CPU."""
    return op.call_target_name.data.startswith("lapack_")


def backend_config_of(op: CustomCallOp) -> Mapping[str, Attribute]:
    """Return the options of a call; an empty mapping if they are not a dictionary.

    JAX stores them in the attribute `mhlo.backend_config`.
    """
    config = op.attributes.get("mhlo.backend_config", op.backend_config)
    return config.data if isinstance(config, DictionaryAttr) else {}


@irdl_op_definition
class CompositeOp(StablehloOp):
    """An op defined by its decomposition, a function that computes the same.

    `stablehlo.composite "my.op" %0 {decomposition = @f} : (tensor<2xf32>) -> tensor<2xf32>`
    """

    name = "stablehlo.composite"
    inputs = var_operand_def()
    composite_name = prop_def(StringAttr, prop_name="name")
    composite_attributes = opt_prop_def(DictionaryAttr, default_value=DictionaryAttr({}))
    decomposition = prop_def(SymbolRefAttr)
    version = opt_prop_def(IntegerAttr.constr(i32), default_value=IntegerAttr(0, i32))
    result = var_result_def()
    composite_regions = var_region_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: PropertyDict = {"name": StringAttr(parser.parse_str_literal())}
        return parse_rest(cls, parser, parse_optional_operands(parser), properties)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.composite_name)
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_rest(self, printer, frozenset(("name",)))


OPS = declared_ops(__name__)


# Targets that return their operands: they place or report values, and compute nothing.
IDENTITY_CALLS = frozenset(
    (
        "annotate_device_placement",
        "InspectSharding",
        "LayoutConstraint",
        "MoveToDevice",
        "MoveToHost",
        "Sharding",
        "xla.sdy.FuncResultSharding",
    )
)
_MEMORY_CALLS = frozenset(("annotate_device_placement", "MoveToDevice", "MoveToHost"))
# Targets by which JAX calls Python functions: callbacks, by their number, and `custom_partitioning`, by a key.
_ON_SHARDS = frozenset(f"xla_ffi_partitioned_python_{platform}_callback" for platform in ("cpu", "gpu"))
CALLBACKS = _ON_SHARDS | {f"xla_ffi_python_{platform}_callback" for platform in ("cpu", "gpu")}
CUSTOM_PARTITIONING = "CustomSPMDPartitioning"
CUSTOM_HINT = "call the function that jax.experimental.custom_partitioning wraps; its ops are partitioned instead"
# Sends other numbers of rows to each device of a group, as experts without a capacity need; JAX has no op for it.
RAGGED_ALL_TO_ALL = "ragged_all_to_all"
PYTHON_CALLS = CALLBACKS | {CUSTOM_PARTITIONING}


def names_of_call(op: CustomCallOp) -> tuple[str, ...]:
    """Return the name of the kernel of a call, if it has any, then the target, which all kernels of a compiler share.

    Mosaic stores the name in the attribute `kernel_name`, and Triton in its configuration.
    """
    kernel = op.attributes.get("kernel_name", backend_config_of(op).get("name"))
    return (*((kernel.data,) if isinstance(kernel, StringAttr) else ()), op.call_target_name.data)


def is_identity_call(op: Operation) -> bool:
    """Return whether the op is a custom call that returns its operands."""
    return isinstance(op, CustomCallOp) and op.call_target_name.data in IDENTITY_CALLS


def moves_to_other_memory(op: Operation) -> bool:
    """Return whether the op is a custom call that moves its operand between the memories of device and host."""
    return isinstance(op, CustomCallOp) and op.call_target_name.data in _MEMORY_CALLS


def is_callback_on_shards(op: Operation) -> bool:
    """Return whether each device calls a Python function with its shards: `jax.debug.print(..., partitioned=True)`."""
    return isinstance(op, CustomCallOp) and op.call_target_name.data in _ON_SHARDS


def is_ragged_all_to_all(op: Operation) -> bool:
    """Return whether the op sends other numbers of rows to each device of a group (`jax.lax.ragged_all_to_all`)."""
    return isinstance(op, CustomCallOp) and op.call_target_name.data == RAGGED_ALL_TO_ALL


def ragged_all_to_all_groups(op: Operation) -> DenseElementsAttr | None:
    """Return the groups of devices of a `ragged_all_to_all`; None for other ops, and if the call lists none."""
    if not isinstance(op, CustomCallOp) or not is_ragged_all_to_all(op):
        return None
    groups = backend_config_of(op).get("replica_groups")
    return groups if isinstance(groups, DenseElementsAttr) else None


def python_call_in(root: Operation) -> CustomCallOp | None:
    """Return the first custom call in `root` that calls a Python function."""
    calls = (op for op in pre_order(root) if isinstance(op, CustomCallOp))
    return next((op for op in calls if op.call_target_name.data in PYTHON_CALLS), None)


def check_no_python_call(root: Operation, runner: str) -> None:
    """Check that the text of `root` is all that `runner` needs, XLA for example.

    Raises: SdyError SDY-X109 at the first custom call that calls a Python function, with which XLA crashes.
    """
    call = python_call_in(root)
    if call is not None:
        target = call.call_target_name.data
        message = f"{runner} cannot run @{target}, which calls a Python function of the process"
        hint = "remove debug prints and callbacks, or run on simulated devices: program.partition().run(...)"
        is_custom = target == CUSTOM_PARTITIONING
        raise error_at(call, "SDY-X109", message, CUSTOM_HINT if is_custom else hint)
