"""Ops that still need a mesh, and which of them can be reductions over meshes. Source: docs/spec/07, 4.11 and 4.17."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from sdy.dialects.facts.traits import Combiner, Identity, as_combiner, combiners_of, is_terminator
from sdy.dialects.ir.walk import enclosing
from sdy.dialects.stablehlo.reduction import COMMUTATIVE
from sdy.dialects.stablehlo.reduction import ReduceOp as StablehloReduceOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp
from sdy.model.sharding import ReductionKind
from sdy.mpmd.dialect.attrs import Reduction
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.passes.tools.uses import uses_of_op


def is_meshless(op: Operation) -> bool:
    """Return whether an op must still be placed: it is outside of fragments, and not of the dialect `mpmd`."""
    if is_terminator(op) or op.name.startswith("mpmd.") or isinstance(op, ModuleOp | FuncOp):
        return False
    return enclosing(op, FragmentOp) is None


def has_tensor_result(op: Operation) -> bool:
    """Return whether a result is a ranked tensor."""
    return any(isinstance(result.type, TensorType) for result in op.results)


def binary_kind(op: Operation) -> Reduction | None:
    """Return the reduction that a binary op is a step of, or None."""
    return kind_of_class(type(op))


def kind_of_class(op_class: type[Operation]) -> Reduction | None:
    """Return the reduction of which ops of a class are steps, or None."""
    match as_combiner(op_class):
        case Combiner(kind=ReductionKind.SUM):
            return Reduction.ADD
        case Combiner(kind=ReductionKind.MAX):
            return Reduction.MAX
        case Combiner(kind=ReductionKind.MIN):
            return Reduction.MIN
        case Combiner(identity=Identity.ONE):
            return Reduction.MUL
        case Combiner(kind_of_booleans=ReductionKind.MAX):
            return Reduction.OR
        case Combiner(kind_of_booleans=ReductionKind.MIN):
            return Reduction.AND
        case _:
            return None


def step_of(kind: Reduction) -> type[Operation]:
    """Return the class of the binary op that is a step of a reduction. Raises: StopIteration for the kind `none`."""
    return next(op for op in COMMUTATIVE.values() if kind_of_class(op) is kind)


def kind_of_reduce(op: StablehloReduceOp) -> Reduction | None:
    """Return the kind of a reduction whose body combines all values by one binary op, or None."""
    combiners = combiners_of(op.body.block)
    kinds = {kind_of_class(each) for each in combiners or ()}
    return kinds.pop() if len(kinds) == 1 else None


def reduce_of_concatenate(op: Operation) -> StablehloReduceOp | None:
    """Return the reduction that is the only use of a concatenation, along its dim, of operands of size 1; or None."""
    uses = uses_of_op(op)
    if not isinstance(op, ConcatenateOp) or len(uses) != 1 or len({operand.type for operand in op.operands}) != 1:
        return None
    reduce = uses[0].operation
    if not isinstance(reduce, StablehloReduceOp) or len(reduce.inputs) != 1:
        return None
    dim = op.dimension.value.data
    operand = cast("TensorType[Attribute]", op.operands[0].type)
    if tuple(reduce.dimensions.get_values()) != (dim,) or operand.get_shape()[dim] != 1:
        return None
    return reduce
