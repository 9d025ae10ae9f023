"""Matches the values of two programs by structure: names, the order of ops, and shardings do not matter.

Two values match if the same ops compute them from matching arguments. The remaining ops, those after a change, are
matched by their kind and types in program order.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.sdy.ops import MeshOp, ShardingConstraintOp
from sdy.dialects.shardings import SHARDING
from sdy.rules.all import RULE_ATTRIBUTE

IGNORED = frozenset({SHARDING, RULE_ATTRIBUTE, "callee", "sym_name"})


class Structure:
    """The ops of a program in order, and a key for the structure of each value: equal for values computed alike.

    A sharding constraint has the key of its operand. `argument_names` are the names of the arguments of the main
    function, which identify them; without names, their positions do.
    """

    def __init__(self, module: ModuleOp, argument_names: Sequence[str]) -> None:
        self.ops: list[Operation] = []
        self._keys: dict[SSAValue, int] = {}
        self._op_keys: dict[Operation, int] = {}
        self._functions = functions_of(module)
        self._visited: set[FuncOp] = set()
        main = main_function(module)
        arguments = main.body.block.args
        for number, argument in enumerate(arguments):
            name = argument_names[number] if argument_names else number
            self._keys[argument] = hash(("argument", name, argument.type))
        self._function(main)

    def key(self, value: SSAValue) -> int:
        """Return the key of a value; 0 for a value of a function that is never called."""
        return self._keys.get(value, 0)

    def op_key(self, op: Operation) -> int:
        """Return the key of one of `ops`: of its own structure, and of the keys of its operands."""
        return self._op_keys[op]

    def _function(self, func: FuncOp) -> None:
        self._visited.add(func)
        for block in func.body.blocks:
            self._ops(block.ops)

    def _ops(self, ops: Iterable[Operation]) -> None:
        for op in ops:
            if isinstance(op, ShardingConstraintOp):
                self._keys[op.result] = self.key(op.input)
                continue
            if not isinstance(op, MeshOp | FuncOp):
                self.ops.append(op)
            key = self._op_keys[op] = hash((own_structure(op), *map(self.key, op.operands)))
            for index, result in enumerate(op.results):
                self._keys[result] = hash((key, index))
            for number, region in enumerate(op.regions):
                for block in region.blocks:
                    for argument in block.args:
                        self._keys[argument] = hash((key, "region", number, argument.index))
                    self._ops(block.ops)
            if isinstance(op, CallOp):
                self._call(op, key)

    def _call(self, call: CallOp, key: int) -> None:
        func = self._functions.get(call.callee.string_value())
        if func is not None and func not in self._visited and func.body.blocks:
            for argument in func.body.block.args:
                self._keys[argument] = hash((key, "called", argument.index))
            self._function(func)


def own_structure(op: Operation) -> Hashable:
    """Return the name, attributes and types of an op, without its shardings and the names of functions."""
    named = {**op.properties, **op.attributes}
    attributes = tuple((name, named[name]) for name in sorted(named) if name not in IGNORED)
    operands, results = (tuple(value.type for value in values) for values in (op.operands, op.results))
    return op.name, attributes, operands, results


class Matching:
    """The pairs of values and ops of two programs."""

    def __init__(self, old: Structure, new: Structure, arguments: Iterable[tuple[SSAValue, SSAValue]]) -> None:
        self.values: dict[SSAValue, SSAValue] = dict(arguments)
        self.ops: dict[Operation, Operation] = {}
        self._match_equal(old, new)
        self._match_similar(old, new)
        self.removed = [op for op in old.ops if op not in self.ops]
        matched = set(self.ops.values())
        self.added = [op for op in new.ops if op not in matched]

    def _match_equal(self, old: Structure, new: Structure) -> None:
        """Match ops with equal keys; among several of one key, in program order."""
        waiting: dict[int, deque[Operation]] = defaultdict(deque)
        for op in new.ops:
            waiting[new.op_key(op)].append(op)
        for op in old.ops:
            candidates = waiting.get(old.op_key(op))
            if candidates:
                self._pair(op, candidates.popleft())

    def _match_similar(self, old: Structure, new: Structure) -> None:
        """Match the remaining ops of equal structure by the longest common subsequences."""
        matched = set(self.ops.values())
        rest = [op for op in old.ops if op not in self.ops], [op for op in new.ops if op not in matched]
        structures = [[hash(own_structure(op)) for op in ops] for ops in rest]
        for block in SequenceMatcher(None, *structures, autojunk=False).get_matching_blocks():
            for offset in range(block.size):
                self._pair(rest[0][block.a + offset], rest[1][block.b + offset])

    def _pair(self, old: Operation, new: Operation) -> None:
        self.ops[old] = new
        self.values.update(zip(old.results, new.results, strict=False))
        for old_region, new_region in zip(old.regions, new.regions, strict=False):
            for old_block, new_block in zip(old_region.blocks, new_region.blocks, strict=False):
                self.values.update(zip(old_block.args, new_block.args, strict=False))


def match_programs(
    old: ModuleOp, new: ModuleOp, old_names: Sequence[str] = (), new_names: Sequence[str] = ()
) -> Matching:
    """Return the pairs of values of two programs; arguments match by name if both have names, otherwise by position."""
    if not old_names or not new_names:
        old_names = new_names = ()
    structures = Structure(old, old_names), Structure(new, new_names)
    return Matching(*structures, _arguments(old, new, old_names, new_names))


def _arguments(
    old: ModuleOp, new: ModuleOp, old_names: Sequence[str], new_names: Sequence[str]
) -> Iterator[tuple[SSAValue, SSAValue]]:
    old_arguments, new_arguments = (main_function(module).body.block.args for module in (old, new))
    if not old_names:
        yield from zip(old_arguments, new_arguments, strict=False)
        return
    by_name: Mapping[str, SSAValue] = dict(zip(new_names, new_arguments, strict=True))
    for name, argument in zip(old_names, old_arguments, strict=True):
        if name in by_name:
            yield argument, by_name[name]
