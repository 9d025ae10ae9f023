"""The state of the lowering of a module to the program of one device: shardings, local types and rewrites.

Shardings are read once, before any op is lowered; a value that replaces another one inherits its sharding.
Source: docs/spec/06, 1.1 to 1.5.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import set_type
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sharded_types import local_type
from sdy.dialects.shardings import argument_sharding, function_result_sharding, sharding_of
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.slicing import SliceOp
from sdy.grammar.write import write_sharding
from sdy.model.shape import StaticShape
from sdy.model.sharding import TensorSharding
from sdy.partitioner.emit.emitter import Emitter, Style
from sdy.partitioner.local.shard_checks import ShardChecks
from sdy.partitioner.on_shards.regrouping import Regrouping
from sdy.partitioner.on_shards.value_shardings import ValueShardings

OpT = TypeVar("OpT", bound=Operation)
LocalForm = Callable[["Lowering"], None]  # rewrites one op with global shapes to its local form


class Lowering:
    """The lowering of a module to the program of one device.

    `shardings` are those of the global program, `checks` the checks to run before any op is lowered.
    """

    def __init__(self, module: ModuleOp, style: Style) -> None:
        self.style = style
        self._shardings: dict[SSAValue, TensorSharding] = {}
        self.shardings = ValueShardings(meshes_of(module), self._shardings.get)
        # Keyed by the identity of the global type. The entry keeps that type alive, so its id cannot be reused.
        self._local_types: dict[tuple[int, TensorSharding], tuple[Attribute, Attribute]] = {}
        self._to_inline: list[ManualComputationOp] = []
        for op in pre_order(module):
            for value in (*op.results, *(argument for region in op.regions for argument in _arguments(region))):
                sharding = sharding_of(value)
                if sharding is not None:
                    self._shardings[value] = sharding
                    self.local_type(value.type, sharding, op)
        # Of slices that receive their elements together with one before them: what is available, and the plan.
        self.received: dict[SliceOp, tuple[SSAValue, Regrouping]] = {}
        self.functions = functions_of(module)
        for func in self.functions.values():
            self.local_signature(func)
        self.checks = ShardChecks(self.shardings, style, self.functions)

    # Types

    def local_type(self, value_type: Attribute, sharding: TensorSharding | None, op: Operation) -> Attribute:
        """Return the type of one shard of a value of `op`.

        Raises: SdyError SDY-L003, located at `op`, if the axes do not divide the size of a dim.
        """
        if sharding is None or sharding.is_fully_replicated:
            return value_type
        known = self._local_types.get((id(value_type), sharding))
        if known is None:
            local = local_type(value_type, sharding, self.shardings.mesh(sharding), allow_uneven=False)
            if local is None:
                message = (
                    f"{op.name}: a dim of {value_type} is not divisible by the size of its axes in "
                    f"{write_sharding(sharding)}"
                )
                hint = "run sdy-pad-for-divisibility first, or use axes whose sizes divide the dim"
                raise SdyError(Diagnostic("SDY-L003", message, span_of(op), hint=hint))
            known = self._local_types[id(value_type), sharding] = value_type, local
        return known[1]

    def global_shape(self, value: SSAValue) -> StaticShape:
        """Return the shape in the global program of a value that is lowered already."""
        counts = self.shardings.shard_counts(value)
        return tuple(size * count for size, count in zip(shape_of(value), counts, strict=True))

    def local_result_types(self, op: Operation) -> list[Attribute]:
        """Return the types of one shard of each result of `op`."""
        return [self.local_type(result.type, self.shardings.of(result), op) for result in op.results]

    def make_local(self, value: SSAValue, op: Operation) -> None:
        """Give `value`, which is defined by `op`, the type of one shard."""
        set_type(value, self.local_type(value.type, self.shardings.of(value), op))

    def make_results_local(self, op: Operation) -> None:
        """Give the results of `op` the types of one shard."""
        for result in tuple(op.results):
            self.make_local(result, op)

    def make_arguments_local(self, op: Operation) -> None:
        """Give the block arguments of `op` the types of one shard."""
        for region in op.regions:
            for argument in _arguments(region):
                self.make_local(argument, op)

    def local_signature(self, func: FuncOp) -> FunctionType:
        """Return the type that `func` has when its arguments and results are shards."""
        inputs, outputs = func.function_type.inputs, func.function_type.outputs
        return FunctionType.from_lists(
            [self.local_type(each, argument_sharding(func, index), func) for index, each in enumerate(inputs)],
            [self.local_type(each, function_result_sharding(func, index), func) for index, each in enumerate(outputs)],
        )

    # Rewrites

    def emitter(self, before: Operation) -> Emitter:
        """Return an emitter that inserts ops before `before`."""
        return Emitter(before, self.style)

    def replace(self, op: Operation, *values: SSAValue) -> None:
        """Replace the results of `op` by `values`, which inherit their shardings, and erase `op`."""
        for result, value in zip(op.results, values, strict=True):
            sharding = self._shardings.pop(result, None)
            if sharding is not None:
                self._shardings[value] = sharding
        Rewriter.replace_op(op, [], values)

    def inline_when_finished(self, op: ManualComputationOp) -> None:
        """Inline the body of `op` in `finish`: until then, the values in the body have shardings of their own."""
        self._to_inline.append(op)

    def finish(self) -> None:
        """Inline the manual computations, inner ones before those that contain them."""
        for op in reversed(self._to_inline):
            terminator = terminator_of(op.body)
            Rewriter.inline_block(op.body.block, InsertPoint.before(op), op.operands)
            Rewriter.replace_op(op, [], terminator.operands)
            Rewriter.erase_op(terminator)


def of_shards(form: Callable[[OpT, Lowering], None]) -> Callable[[OpT], LocalForm]:
    """Return the entry of a table for a form that reads only shards: the operands of its op are lowered already."""

    @wraps(form)
    def local_form(op: OpT) -> LocalForm:
        return lambda lowering: form(op, lowering)

    return local_form


def _arguments(region: Region) -> list[SSAValue]:
    return [argument for block in region.blocks for argument in block.args]
