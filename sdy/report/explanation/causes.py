"""The causes of collectives: conflicts of propagation, rewrites of the optimizer, and annotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import product

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from sdy.cost.collectives import CollectiveKind
from sdy.diagnostics.diagnostic import Diagnostic
from sdy.dialects.data_flow import op_of
from sdy.dialects.sdy.ops import ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import function_result_sharding, sharding_of
from sdy.model.axis import AxisList, AxisRef, overlaps
from sdy.passes.export.optimize.remark_codes import REWRITE, SAVINGS
from sdy.report.explanation.explainer import ConflictSite, Explainer
from sdy.report.explanation.value_names import line_of

MAX_STEPS = 4  # of a path of propagation that is shown in full where causes are short
REDUCTIONS = (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER)


class CauseKind(Enum):
    """A reason why a collective is necessary. The values complete the sentence "it is caused by ..."."""

    CONFLICT = "a conflict of propagation"
    OPTIMIZER = "a rewrite of the communication optimizer"
    ANNOTATION = "an annotation"
    OP = "the op on shards"  # for example, a sum over a dim that is sharded
    STORED = "an argument that is stored in shards"  # as the weights of FSDP

    @property
    def short(self) -> str:
        """The cause in a word or two."""
        texts = {CauseKind.OP: "op on shards", CauseKind.STORED: "stored in shards"}
        return texts.get(self, self.name.lower())


class CollectiveCauses:
    """Finds the causes of the collectives of a partitioned program, by the line of the op that each belongs to.

    `remarks` are those of partitioning.
    """

    def __init__(self, explainer: Explainer, remarks: Sequence[Diagnostic]) -> None:
        self._explainer = explainer
        self._sites: dict[int, ConflictSite] = {
            site.line: site for site in explainer.conflict_sites() if site.line is not None
        }
        self._remarks: dict[int, list[Diagnostic]] = {}
        for remark in remarks:
            if remark.span is not None:
                self._remarks.setdefault(remark.span.line, []).append(remark)
        self._is_rewritten = any(remark.code == REWRITE for remark in remarks)

    def kind(
        self, collective: CollectiveKind, line: int | None, axes: AxisList, arguments: Sequence[int] = ()
    ) -> CauseKind:
        """Return what made a collective necessary; the other arguments are those of `of`.

        No conflict causes a reduction: partial sums come from an op on shards. An all-gather of arguments that the user
        has sharded is none either: they are stored so.
        """
        if line is None:
            return CauseKind.OP
        lines = [line, *self._lines_of_users(line, arguments)]
        if any(isinstance(op, ShardingConstraintOp | ManualComputationOp) for op in self._ops_on(line)):
            return CauseKind.ANNOTATION
        if collective is CollectiveKind.ALL_GATHER and arguments and self._is_annotated(line, arguments):
            return CauseKind.STORED
        if collective not in REDUCTIONS and any(self._conflict_along(each, axes) for each in lines):
            return CauseKind.CONFLICT
        if any(remark.code == REWRITE for each in lines for remark in self._remarks.get(each, ())):
            return CauseKind.OPTIMIZER
        if self._is_annotated(line, arguments):
            return CauseKind.ANNOTATION
        is_of_op = any(True for axis in axes for _ in self._origin(self._operands_on(line), axis))
        return CauseKind.OPTIMIZER if self._is_rewritten and not is_of_op else CauseKind.OP

    def of(
        self, line: int | None, axes: AxisList, arguments: Sequence[int] = (), *, is_short: bool = False
    ) -> Iterator[str]:
        """Yield the causes of a collective along `axes` that belongs to the op on `line`, one or more lines each.

        These are the conflicts at the op and at those that read its results, what the optimizer did to it, and the
        origin of each axis: the chain of ops through which it came to an operand or a result from an annotation. If the
        collective reshards arguments of the function on that line, `arguments` are their numbers. In short, long chains
        are shown without their middle.
        """
        if line is None:
            return
        users = [each for each in self._lines_of_users(line, arguments) if axes and self._conflict_along(each, axes)]
        found = [
            *(self._sites[line].sentences if line in self._sites else ()),
            *(f"{self._sites[each].line_text}: {text}" for each in users for text in self._sites[each].sentences[:1]),
            *self._changes(line),
            *(
                text
                for axis in axes
                for text in self._origin(self._values_on(line, arguments), axis, is_short=is_short)
            ),
        ]
        if not found and axes:
            listed = ", ".join(map(str, axes))
            found = [f"propagation shards no tensor of this op along {listed}; the communication optimizer does"]
        yield from found

    def _conflict_along(self, line: int, axes: AxisList) -> bool:
        """Return whether a conflict at the op on a line involves one of the axes. Without axes, any conflict counts."""
        site = self._sites.get(line)
        return site is not None and (not axes or any(overlaps(*pair) for pair in product(site.axes, axes)))

    def _changes(self, line: int) -> Iterator[str]:
        """Yield what the communication optimizer, or another pass, did to an op."""
        messages = Counter((remark.code in SAVINGS, remark.message) for remark in self._remarks.get(line, ()))
        for (is_saving, message), count in messages.items():
            what = "the communication optimizer changed it: " if is_saving else ""
            yield f"{what}{message}" + f" ({count:,} times)" * (count > 1)

    def _origin(self, values: Sequence[SSAValue], axis: AxisRef, *, is_short: bool = False) -> Iterator[str]:
        """Yield the chain of ops that propagated an axis to the first of some values that has it."""
        for value in values:
            origin = next((each for each in self._explainer.origins(value) if overlaps(each.axis, axis)), None)
            if origin is not None:
                yield f"dim {origin.dim} of {self._explainer.names[value]} is sharded along {origin.axis}:"
                steps = [f"  {where}  {text}" for where, text in origin.steps]
                yield from _without_middle(steps) if is_short else steps
                return

    def _is_annotated(self, line: int, arguments: Sequence[int]) -> bool:
        """Return whether the user annotated what is on a line; of a function, some arguments or the results."""
        found = self._explainer.names.defined_on(line)
        functions = {op for value in found if isinstance(op := op_of(value), FuncOp)}
        if functions and not arguments:
            return any(
                function_result_sharding(func, index) is not None
                for func in functions
                for index in range(len(func.function_type.outputs))
            )
        if functions:
            return any(sharding_of(value) is not None for value in self._values_on(line, arguments))
        return any(sharding_of(value) is not None for value in found)

    def _ops_on(self, line: int) -> list[Operation]:
        owners = dict.fromkeys(value.owner for value in self._explainer.names.defined_on(line))
        return [owner for owner in owners if isinstance(owner, Operation)]

    def _lines_of_users(self, line: int, arguments: Sequence[int]) -> list[int]:
        """Return the lines of the ops that read the values on a line; of a function, some arguments or all of them."""
        found = self._explainer.names.defined_on(line)
        values = self._values_on(line, arguments) if arguments else found
        lines = (line_of(use.operation) for value in values for use in value.uses)
        return sorted({each for each in lines if each is not None and each != line})

    def _operands_on(self, line: int) -> list[SSAValue]:
        return [operand for op in self._ops_on(line) for operand in op.operands]

    def _values_on(self, line: int, arguments: Sequence[int]) -> Sequence[SSAValue]:
        """Return the operands, then the results, of the ops on a line; of a function, some arguments or all of them."""
        found = self._explainer.names.defined_on(line)
        of_function = [
            found[each] for each in arguments if each < len(found) and isinstance(found[each], BlockArgument)
        ]
        if of_function:
            return of_function
        return [*dict.fromkeys(self._operands_on(line)), *found]


def _without_middle(steps: Sequence[str]) -> Sequence[str]:
    """Return the steps of a path; of a long one, the first, the number of those between, and the last."""
    if len(steps) <= MAX_STEPS:
        return steps
    return steps[0], f"  ... {len(steps) - 2} more steps", steps[-1]


def resharded_arguments(op: Operation) -> list[BlockArgument]:
    """Return the arguments of a function that a collective reshards, after other ops of the same reshard.

    These ops have the location of the function. Several reshards may have been combined into one collective.
    """
    func = op.parent_op()
    if func is None or func.location != op.location:
        return []
    found, pending = dict[BlockArgument, None](), [*reversed(op.operands)]
    while pending:
        value = pending.pop()
        if isinstance(value, BlockArgument):
            found |= {value: None} if op_of(value) is func else {}
        elif isinstance(value.owner, Operation) and value.owner.location == op.location:
            pending += reversed(value.owner.operands)
    return list(found)
