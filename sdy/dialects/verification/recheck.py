"""Verification of a module again and again, as passes change it: only what has changed, and what depends on it."""

# pyright: reportPrivateUsage=false
# Links between ops are read from private fields, as in `sdy.dialects.ir.walk`: properties are function calls.

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, count
from math import inf
from typing import Self

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.data_flow import op_of
from sdy.dialects.facts.traits import is_terminator
from sdy.dialects.ir.edit_log import EditLog, watch
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.walk import blocks_of, of_class, ops_around, ops_in, pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.attrs import EDGES
from sdy.dialects.sdy.ops import ConstantOp, MeshOp, PropagationBarrierOp
from sdy.dialects.sdy.regions import ComputationOp, ManualComputationOp, NamedComputationOp
from sdy.dialects.stablehlo.calls import CompositeOp
from sdy.dialects.verification.attribute_checks import AttributeChecks
from sdy.dialects.verification.function_types import check_calls
from sdy.dialects.verification.op_checks import (
    OpChecks,
    check_in_function,
    check_is_last,
    check_terminator,
    is_verified_by_signature,
)
from sdy.dialects.verification.sdy_ops import STRUCTURE_RULES, USE_RULES, check_structure, check_use
from sdy.dialects.verification.sdy_scope import Scope
from sdy.dialects.verification.sdy_shardings import check_function_shardings, check_symbols
from sdy.dialects.verification.verify_module import CallLikeOp, check_is_visible, is_plain, verify_module


class Membership:
    """Tells which ops are in a module. Valid while no op is moved."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._blocks: dict[int, bool] = {}  # whether a block is in the module, by its id

    def has(self, op: Operation) -> bool:
        """Return whether `op` is the module or inside it."""
        block = op.parent
        if block is None:
            return op is self._module
        known = self._blocks.get(id(block))
        if known is None:
            owner = block.parent_op()
            known = self._blocks[id(block)] = owner is not None and self.has(owner)
        return known

    def inside(self, ops: Iterable[Operation]) -> dict[int, Operation]:
        """Return those of the ops that are in the module, by id."""
        blocks, has, found = self._blocks, self.has, dict[int, Operation]()
        for op in ops:
            known = blocks.get(id(op.parent))  # without a call for each op
            if known or (known is None and has(op)):
                found[id(op)] = op
        return found


@dataclass(slots=True)
class Changes:
    """The ops of a module that have changed, by id. Those with other attributes may be outside of the module."""

    membership: Membership
    touched: dict[int, Operation] = field(default_factory=dict[int, Operation])  # new, moved, or with another field
    attributes: list[Operation] = field(default_factory=list[Operation])  # others, with other attributes
    placed: list[Operation] = field(default_factory=list[Operation])  # the touched ones that were inserted or moved
    order: bool = False  # ops were inserted, moved or erased

    @staticmethod
    def of(module: ModuleOp, log: EditLog) -> Changes:
        """Return the ops that were edited, and those to which the edit of another op, block or region matters."""
        # The values of the log are copied, because another thread may edit another module at the same time.
        changes = Changes(Membership(module), order=bool(log.placed or log.placed_containers))
        placed, values = list(log.placed.values()), list(log.values)
        for container in list(log.placed_containers.values()):
            for block in container.blocks if isinstance(container, Region) else (container,):
                values += block.args
                placed += (ops := ops_in(block))
                for op in ops:
                    values += op.results
        for op in list(placed):
            if op.regions:
                placed += pre_order(op)
        changes.touched = changes.membership.inside(placed)
        changes.placed = list(changes.touched.values())
        changes.touch(list(log.written.values()))
        changes.touch([op for op in log.reduced.values() if not is_verified_by_signature(type(op))])
        changes.touch(map(_owner, [*log.containers.values(), *log.placed_containers.values()]))
        changes.touch(map(op_of, list(log.values)))
        changes.touch(_users(values))
        touched = changes.touched
        changes.touch([op.parent_op() for op in touched.values() if op._next_op is None])
        changes.attributes = [op for key, op in list(log.attributes.items()) if key not in touched]
        return changes

    def touch(self, ops: Iterable[Operation | None]) -> None:
        """Add those ops to the touched ones that are in the module."""
        touched = self.touched
        touched |= self.membership.inside(op for op in ops if op is not None and id(op) not in touched)


def _owner(container: Block | Region) -> Operation | None:
    return container.parent if isinstance(container, Region) else container.parent_op()


def _users(values: Iterable[SSAValue]) -> list[Operation]:
    users: list[Operation] = []
    for value in values:
        use = value.first_use
        while use is not None:
            users.append(use.operation)
            use = use._next_use
    return users


@cache
def _is_by_signature(op_class: type[Operation]) -> bool:
    # Whether operands are visible is checked apart, so an isolated op can be verified by its signature, too.
    return is_verified_by_signature(op_class) or issubclass(op_class, ComputationOp)


# The `sdy` ops whose rules depend on ops elsewhere.
_WITH_CONTEXT = {*STRUCTURE_RULES, *USE_RULES} - {ConstantOp, PropagationBarrierOp, NamedComputationOp}
_SPECIAL = frozenset[type[Operation]](
    (*_WITH_CONTEXT, CallOp, CompositeOp, FuncOp, MeshOp)
)  # whose class matters below


class OpsToRecheck:
    """The ops of a module that are verified again after each change, or after particular changes."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._special: dict[int, Operation] = {}  # those whose class matters below, by id
        self._add([module, *pre_order(module)])

    def update(self, changes: Changes) -> None:
        """Add the new ops, and drop the erased ones."""
        if changes.order:
            self._special = {key: op for key, op in self._special.items() if changes.membership.has(op)}
            self._add(changes.touched.values())

    def _add(self, ops: Iterable[Operation]) -> None:
        self._special.update((id(op), op) for op in ops if type(op) in _SPECIAL or not _is_by_signature(type(op)))
        special = list(self._special.values())
        self.with_context = [op for op in special if type(op) in _WITH_CONTEXT]
        # Whether an op of another class is valid may depend on anything.
        self.foreign = [op for op in special if not _is_by_signature(type(op))]
        self.calls = [op for op in special if isinstance(op, CallLikeOp)]
        self.functions = of_class(special, FuncOp)
        self.meshes = of_class(special, MeshOp)
        self.have_manual = any(type(op) is ManualComputationOp for op in special)
        # Nested modules have other meshes; and the order of functions does not matter, unlike that of other ops.
        top = [op for block in blocks_of(self._module) for op in ops_in(block)]
        self.is_usual = len(of_class(special, ModuleOp)) == 1 and not any(op.results or op.operands for op in top)


@dataclass(frozen=True)
class Recheck:
    """One verification of what has changed. `scope` has the meshes of the module, which have not."""

    module: ModuleOp
    ops: OpsToRecheck
    order: BlockOrder
    scope: Scope
    op_checks: OpChecks
    attribute_checks: AttributeChecks

    def check(self, changes: Changes, functions_before: int) -> None:
        """Verify what has changed. Raises: SdyError for a problem, which need not be the first in the module."""
        have_other_count = len(self.ops.functions) != functions_before
        if have_other_count:
            changes.touch(self.ops.functions)  # a function is the main function if it is the only one
        _check_ends(changes.placed)
        touched = self._with_dependents(changes.touched)
        self._check_ops(touched)
        have_other_functions = have_other_count or any(type(op) is FuncOp for op in touched)
        check_calls(op for op in self.ops.calls if have_other_functions or id(op) in changes.touched)
        self._check_attributes((*touched, *changes.attributes), changes.membership.has)
        self._check_sdy_rules(touched)

    def _with_dependents(self, touched: dict[int, Operation]) -> list[Operation]:
        """Return the ops and those inside that depend on them, in program order.

        A return depends on the type of its function, and shardings depend on the manual axes around them.
        """
        found = dict(touched)
        for op in touched.values():
            if type(op) is FuncOp:
                found.update((id(block.last_op), block.last_op) for block in op.body.blocks if block.last_op)
            elif type(op) is ManualComputationOp:
                found.update((id(inner), inner) for inner in pre_order(op))
        return list(found.values())

    def _check_ops(self, touched: Sequence[Operation]) -> None:
        """Check each op alone, the ends of its blocks, and that its operands are visible."""
        for op in sorted((op for op in touched if op.regions), key=lambda op: sum(1 for _ in ops_around(op))):
            for block in blocks_of(op):
                check_terminator(block, op)
            self._check_op(op)
        check_by_signature = self.op_checks.check_by_signature
        for op in touched:
            if op.regions:
                continue
            if is_plain(type(op)):  # almost always
                check_by_signature(op)
            else:
                self._check_op(op)
        self._check_visibility(touched)
        for op in self.ops.foreign:
            self.op_checks.check_alone(op)

    def _check_op(self, op: Operation) -> None:
        if _is_by_signature(type(op)):
            self.op_checks.check_by_signature(op)
        else:
            self.op_checks.check_alone(op)
        check_in_function(op)

    def _check_visibility(self, touched: Sequence[Operation]) -> None:
        """Check that the operands of each op are visible to it."""
        numbers = self.order.numbers_with(touched)
        for op in touched:
            for operand in operands_of(op):
                # Most operands are results of earlier ops of the block; for these, a call would take most time.
                if (
                    type(operand) is not OpResult
                    or (producer := operand.op).parent is not op.parent
                    or numbers.get(id(producer), inf) >= numbers[id(op)]
                    or operand not in producer.results
                ):
                    check_is_visible(operand, op, self._is_defined_before)

    def _is_defined_before(self, result: OpResult, op: Operation) -> bool:
        producer = result.op
        return result in producer.results and self.order.is_before(producer, op)

    def _check_attributes(self, changed: Iterable[Operation], is_inside: Callable[[Operation], bool]) -> None:
        """Check the `sdy.` attributes of changed ops, of which those that are not inside the module do not matter."""
        checks = self.attribute_checks
        with_edges = self._ops_with_edges() if checks.have_seen_edges else ()
        with_attributes = [op for op in chain(changed, with_edges) if op.attributes and op is not self.module]
        if self.module.attributes:
            checks.check(self.module, Scope({}))  # they cannot refer to the meshes inside
        if self.ops.have_manual:
            for op in filter(is_inside, with_attributes):
                checks.check(op, self._scope_of(op))
        else:
            for op in filter(is_inside, checks.unlike_valid(with_attributes, self.scope)):
                checks.check(op, self.scope)

    def _check_sdy_rules(self, touched: Iterable[Operation]) -> None:
        """Check changed ops, and every op whose rules depend on others."""
        checks, scope_of = self.attribute_checks, self._scope_of
        for op in touched:
            if type(op) is FuncOp:
                checks.check_once(check_function_shardings, op, scope_of(op))
            elif isinstance(op, ConstantOp | PropagationBarrierOp):
                checks.check_once(check_structure, op, scope_of(op))
            elif type(op) is NamedComputationOp:  # touched, too, if the types of its operands or its body change
                check_structure(op, scope_of(op))
                check_use(op, scope_of(op))
        for op in self.ops.with_context:
            if type(op) in STRUCTURE_RULES:
                check_structure(op, scope_of(op))
        check_symbols(self.module)
        for op in self.ops.with_context:
            if type(op) in USE_RULES:
                check_use(op, scope_of(op))

    def _ops_with_edges(self) -> list[Operation]:
        """Return the ops with propagation edges, whose validity depends on the shardings of operands."""
        return [op for op in pre_order(self.module) if EDGES in op.attributes]

    def _scope_of(self, op: Operation) -> Scope:
        if not self.ops.have_manual:
            return self.scope
        scope = self.scope
        for manual in reversed(of_class(list(ops_around(op)), ManualComputationOp)):
            scope = scope.within(manual)
        return scope


def _check_ends(placed: Iterable[Operation]) -> None:
    """Check that no op is after a terminator, given the ops that were inserted or moved."""
    for op in placed:
        before = op._prev_op
        if before is not None and is_terminator(before):
            check_is_last(before)
        if op._next_op is not None and is_terminator(op):
            check_is_last(op)


_LEAST_STEP = 2.0**-20  # between two numbers; an index below 2**32 with this step is exact


class BlockOrder:
    """The order of the ops in each block, as numbers that increase from op to op.

    The ops of a block are numbered when the order of one of them is first asked for. An inserted op gets a number
    between those of the ops before and after it; if there is none, the whole block is numbered again.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, float] = {}  # by the id of the op

    def forget(self, ids: Iterable[int]) -> None:
        """Forget the numbers of ops that were inserted, moved or erased, given their ids."""
        for key in ids:
            self._numbers.pop(key, None)

    def is_before(self, op: Operation, other: Operation) -> bool:
        """Return whether an op comes before another one of the same block."""
        numbers = self.numbers_with((op, other))
        return numbers[id(op)] < numbers[id(other)]

    def numbers_with(self, ops: Iterable[Operation]) -> Mapping[int, float]:
        """Return the numbers of all ops that have one, by id, after each of `ops` got one.

        The other ops in the blocks of these have numbers, too, unless they were forgotten.
        """
        numbers = self._numbers
        for op in ops:
            if id(op) not in numbers:
                self._number_run(op)
        return numbers

    def _number_run(self, op: Operation) -> None:
        """Number `op` and the ops around it that have no number either."""
        numbers, run = self._numbers, [op]
        before, after = op._prev_op, op._next_op
        while before is not None and id(before) not in numbers:
            run.append(before)
            before = before._prev_op
        run.reverse()
        while after is not None and id(after) not in numbers:
            run.append(after)
            after = after._next_op
        if before is not None and after is not None:
            low, high = numbers[id(before)], numbers[id(after)]
        elif after is not None:
            low, high = numbers[id(after)] - len(run) - 1, numbers[id(after)]
        else:
            low = 0.0 if before is None else numbers[id(before)]
            high = low + len(run) + 1
        step = (high - low) / (len(run) + 1)
        if step < _LEAST_STEP:
            assert op.parent is not None
            self._number_block(op.parent)
        else:
            for each in run:
                low += step
                numbers[id(each)] = low

    def _number_block(self, block: Block) -> None:
        self._numbers.update(zip(map(id, ops_in(block)), count(0.0), strict=False))


class VerifiedModule:
    """A module that was valid when it was last verified. It may be changed only within `listening`."""

    def __init__(self, module: ModuleOp) -> None:
        """Verify all of the module. Raises: SdyError for the first problem."""
        self._module = module
        self._op_checks = OpChecks()
        self._attribute_checks = AttributeChecks(self._op_checks.numbers)
        self._edits = EditLog()
        self._verify_all()
        watch((module, *pre_order(module)))

    @contextmanager
    def listening(self) -> Generator[Self, None, None]:
        """Notice what is changed."""
        with self._edits.listening():
            yield self

    def verify(self) -> None:
        """Verify what has changed since the module was last valid, and what depends on it.

        Raises: SdyError for the first problem in the module, the same as `verify_module`.
        """
        if self._edits.is_empty():
            return
        changes = Changes.of(self._module, self._edits)
        watch(changes.touched.values())
        self._order.forget(list(self._edits.placed))
        functions_before, meshes_before = len(self._ops.functions), self._ops.meshes
        self._ops.update(changes)
        meshes = self._ops.meshes
        if not self._ops.is_usual or meshes != meshes_before or any(id(op) in changes.touched for op in meshes):
            self._verify_all()
        else:
            self._verify_changes(changes, functions_before)
        self._edits.clear()

    def _verify_changes(self, changes: Changes, functions_before: int) -> None:
        recheck = Recheck(self._module, self._ops, self._order, self._scope, self._op_checks, self._attribute_checks)
        try:
            recheck.check(changes, functions_before)
        except SdyError:
            verify_module(self._module)  # raises the error for the first problem
            raise

    def _verify_all(self) -> None:
        verify_module(self._module, self._op_checks, self._attribute_checks)
        self._ops, self._order = OpsToRecheck(self._module), BlockOrder()
        self._scope = Scope(meshes_of(self._module))
