"""The memory of arguments: which values share it, and how long an argument of the main function keeps it.

The caller of a program holds its arguments, so their memory stays in use to the end. An argument is *donated* if it has
`jax.buffer_donor` or `tf.aliasing_output`: its memory is free after its last read, and a result may be written there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import BoolAttr, DictionaryAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.symbols import MAIN, functions_of, main_function
from sdy.dialects.ir.walk import block_of, op_and_nested_ops, pre_order
from sdy.dialects.stablehlo import elementwise
from sdy.dialects.stablehlo.control import WhileOp
from sdy.dialects.stablehlo.gather_scatter import ScatterOp
from sdy.dialects.stablehlo.slicing import DynamicUpdateSliceOp

ArgumentAttributes = Mapping[BlockArgument, Mapping[str, Attribute]]
DONOR, ALIASED_RESULT = "jax.buffer_donor", "tf.aliasing_output"
_IN_PLACE = frozenset((*elementwise.OPS, DynamicUpdateSliceOp, ScatterOp))


class Buffers:
    """The arguments of the main function that are held or donated, and the values that share their memory."""

    def __init__(self, module: ModuleOp) -> None:
        functions = functions_of(module)
        self._held: frozenset[SSAValue] = frozenset()
        self._end: Operation | None = None
        self._overwritten: dict[Operation, list[SSAValue]] = {}
        if len(functions) == 1 or MAIN in functions:  # a library of functions has no arguments that a caller holds
            main = main_function(module)
            attributes = _argument_attributes(main)
            self._held = frozenset(arg for arg, named in attributes.items() if not _is_donated(named))
            self._end = main.body.block.last_op
            self._overwritten = _overwritten(main, attributes)
        self._shared = _values_in_memory_of(self._held, module)

    def is_shared(self, value: SSAValue) -> bool:
        """Return whether a value is a held argument itself: in a called function, or unchanged in a loop."""
        return value in self._shared

    def reads(self, op: Operation, block: Block) -> list[SSAValue]:
        """Return the values of a block that an op reads, including reads in its regions.

        The return of the main function reads the held arguments too, because they live until then.
        """
        found = [value for reader in op_and_nested_ops(op) for value in operands_of(reader) if block_of(value) is block]
        return [*found, *self._held] if op is self._end else found

    def overwritten(self, op: Operation) -> Sequence[SSAValue]:
        """Return the operands whose memory the results take over, unless another op reads them later."""
        return operands_of(op) if isinstance(op, WhileOp) else self._overwritten.get(op, ())

    def last_reads(self, block: Block) -> dict[Operation, set[SSAValue]]:
        """Return, for each op of a block, the values of the block that it is the last op to read."""
        last: dict[SSAValue, Operation] = {}
        dying: dict[Operation, set[SSAValue]] = {}
        for op in block.ops:
            dying[op] = set()
            last.update(dict.fromkeys(self.reads(op, block), op))
        for value, op in last.items():
            dying[op].add(value)
        return dying


def region_inputs(op: Operation) -> Sequence[SSAValue]:
    """Return the operands that become arguments of a region or of a called function."""
    return operands_of(op) if isinstance(op, WhileOp | CallOp) else ()


def _argument_attributes(main: FuncOp) -> ArgumentAttributes:
    none = DictionaryAttr({})
    arguments = main.body.block.args
    listed = [none] * len(arguments) if main.arg_attrs is None else main.arg_attrs.data
    return {argument: each.data for argument, each in zip(arguments, listed, strict=True)}


def _is_donated(attributes: Mapping[str, Attribute]) -> bool:
    donor = attributes.get(DONOR)
    return ALIASED_RESULT in attributes or (isinstance(donor, IntegerAttr) and donor == BoolAttr.from_bool(True))


def _values_in_memory_of(held: frozenset[SSAValue], module: ModuleOp) -> frozenset[SSAValue]:
    """Return the values that are always a held argument: each value that flows into them is one, too."""
    flows = list(_flows(module))
    shared: set[SSAValue] = {target for _, target in flows}
    is_smaller = True
    while is_smaller:
        others = {target for source, target in flows if source not in shared and source not in held}
        is_smaller = not shared.isdisjoint(others)
        shared -= others
    return frozenset(shared)


def _flows(module: ModuleOp) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Yield pairs of a value and another one that has the same memory, if nothing else flows into the latter."""
    functions = functions_of(module)
    for op in pre_order(module):
        if isinstance(op, CallOp):
            entry = functions[op.callee.string_value()].body.first_block
            yield from zip(op.operands, () if entry is None else entry.args, strict=entry is not None)
        elif isinstance(op, WhileOp):
            carried = op.body.block.last_op
            assert carried is not None  # verified
            for index, (operand, argument) in enumerate(zip(op.operands, op.body.block.args, strict=True)):
                if carried.operands[index] is argument:  # no iteration changes it
                    yield from ((operand, each) for each in (argument, op.cond.block.args[index], op.results[index]))


def _overwritten(main: FuncOp, attributes: ArgumentAttributes) -> dict[Operation, list[SSAValue]]:
    """Return the donated arguments that an op overwrites with the result of the program that takes their memory."""
    end = main.body.block.last_op
    results = [] if end is None else list(end.operands)
    found: dict[Operation, list[SSAValue]] = {}
    for argument, index in _results_of_donors(attributes, results):
        writer = results[index].owner
        if type(writer) in _IN_PLACE and isinstance(writer, Operation) and writer.parent is main.body.block:
            found.setdefault(writer, []).append(argument)
    return {op: [arg for arg in arguments if arg in op.operands] for op, arguments in found.items()}


def _results_of_donors(
    attributes: ArgumentAttributes, results: Sequence[SSAValue]
) -> Iterator[tuple[BlockArgument, int]]:
    """Yield donated arguments, each with the result that takes its memory: as annotated, else of the same type."""
    aliased = {
        argument: index.value.data
        for argument, named in attributes.items()
        if isinstance(index := named.get(ALIASED_RESULT), IntegerAttr) and index.value.data < len(results)
    }
    yield from aliased.items()
    free = [index for index in range(len(results)) if index not in aliased.values()]
    for argument, named in attributes.items():
        if argument not in aliased and _is_donated(named):
            index = next((index for index in free if results[index].type == argument.type), None)
            if index is not None:
                free.remove(index)
                yield argument, index
