"""Ops that read or write slices at indices which another tensor holds."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i1, i64
from xdsl.irdl import (
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure, RecursiveMemoryEffect

from sdy.dialects.facts.traits import LinearIn, Linearity, MovesElements, RegionOnElements
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.attributes.attrs import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr
from sdy.dialects.stablehlo.base import OpCheck, StablehloOp
from sdy.dialects.stablehlo.checks.element_kinds import check_indices, check_scatter_indices
from sdy.dialects.stablehlo.checks.gather_scatter import check_dynamic_gather, check_gather, check_scatter

FALSE = IntegerAttr(0, i1)


@irdl_op_definition
class GatherOp(StablehloOp):
    """Gather slices of the operand that start at `start_indices`; starts are clamped so that slices are in bounds."""

    name = "stablehlo.gather"
    operand = operand_def()
    start_indices = operand_def()
    dimension_numbers = prop_def(GatherDimensionNumbersAttr)
    slice_sizes = prop_def(DenseArrayBase.constr(i64))
    indices_are_sorted = opt_prop_def(IntegerAttr.constr(i1), default_value=FALSE)
    result = result_def()
    traits = traits_def(Pure(), MovesElements(is_selection=True), LinearIn(Linearity.FIRST))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_gather, check_indices(1))


@irdl_op_definition
class DynamicGatherOp(StablehloOp):
    """A `gather` whose slice sizes are an operand."""

    name = "stablehlo.dynamic_gather"
    operand = operand_def()
    start_indices = operand_def()
    slice_sizes = operand_def()
    dimension_numbers = prop_def(GatherDimensionNumbersAttr)
    indices_are_sorted = opt_prop_def(IntegerAttr.constr(i1), default_value=FALSE)
    result = result_def()
    traits = traits_def(Pure(), MovesElements(is_selection=True))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_dynamic_gather, check_indices(1))


@irdl_op_definition
class ScatterOp(StablehloOp):
    """Combine slices of `updates` into the inputs at `scatter_indices` with a region."""

    name = "stablehlo.scatter"
    inputs = var_operand_def()
    scatter_indices = operand_def()
    updates = var_operand_def()
    scatter_dimension_numbers = prop_def(ScatterDimensionNumbersAttr)
    indices_are_sorted = opt_prop_def(IntegerAttr.constr(i1), default_value=FALSE)
    unique_indices = opt_prop_def(IntegerAttr.constr(i1), default_value=FALSE)
    result = var_result_def()
    update_computation = region_def("single_block")
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(RecursiveMemoryEffect(), RegionOnElements())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_scatter, check_scatter_indices)


@irdl_op_definition
class TorchIndexSelectOp(StablehloOp):
    """Select the slices along `dim` at `index`, for each index of the batch dims."""

    name = "stablehlo.torch_index_select"
    operand = operand_def()
    index = operand_def()
    dim = prop_def(IntegerAttr.constr(i64))
    batch_dims = prop_def(IntegerAttr.constr(i64))
    result = result_def()
    traits = traits_def(Pure(), MovesElements(is_selection=True))


OPS = declared_ops(__name__)
