"""The walk over a program: the relation of each value, op by op, in functions, loops and branches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from sdy.diagnostics.progress import note_step
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import ops_in
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo import collectives
from sdy.dialects.stablehlo.attributes.types import TokenType, as_tensor
from sdy.evidence.proof.known import as_known, element_type, whole
from sdy.evidence.proof.relations import Known, NotProvedError, Relation, Unknown, View
from sdy.evidence.proof.terms import NAMED, Shape, Term, TermTable

PARTIALLY_KNOWN = frozenset({"func.call", "stablehlo.optimization_barrier"}) | {
    f"stablehlo.{name}" for name in ("while", "case", "if")
}
UNCHANGED = frozenset(
    f"sdy.{name}" for name in ("sharding_constraint", "reshard", "propagation_barrier", "data_flow_edge")
)
# Ops that have no meaning in a program that does not run on devices.
ON_DEVICES = frozenset(op.name for op in collectives.OPS)
OF_BOOLEANS = {"add": "or", "maximum": "or", "multiply": "and", "minimum": "and"}
KINDS = frozenset({"add", "multiply", "maximum", "minimum", "and", "or"})


Environment = dict[SSAValue, Relation]
Lemma = Callable[["Walk", Operation, list[Relation]], list[Relation]]


class State(NamedTuple):
    """The findings of a walk up to some op, to go back to; `calls` is the number of calls."""

    unproved: set[Operation]
    reasons: dict[Operation, str]
    lost: dict[Operation, str]
    calls: int


@dataclass(slots=True)
class Walk:
    """The state of a walk over one program: all terms, and which ops were proved."""

    devices: int
    table: TermTable
    lemmas: dict[str, Lemma]
    lemma_of_others: Callable[[Operation], Lemma | None] = lambda _: None  # of ops that are in no table
    functions: dict[str, FuncOp] = field(default_factory=dict[str, FuncOp])
    main: Block | None = None
    used: Counter[str] = field(default_factory=Counter[str])
    reached: set[Operation] = field(default_factory=set[Operation])
    unproved: set[Operation] = field(default_factory=set[Operation])
    reasons: dict[Operation, str] = field(default_factory=dict[Operation, str])
    level: int = 0  # of loops around the op
    depth: int = 0  # of regions on scalars around the op
    environment: Environment = field(default_factory=dict[SSAValue, Relation])
    # Why loops do not keep the relation of a carried value: the first op of each that is not proved then.
    lost: dict[Operation, str] = field(default_factory=dict[Operation, str])
    borders: Environment = field(default_factory=dict[SSAValue, Relation])  # what is taken where lemmas end
    crossed: list[SSAValue] = field(default_factory=list[SSAValue])  # the borders of which the relation was taken
    _calls: dict[Hashable, list[Relation]] = field(default_factory=dict[Hashable, list[Relation]])

    def run(self, module: ModuleOp, main: FuncOp, arguments: Sequence[Relation]) -> list[Relation]:
        """Return the relations of the results of the main function."""
        self.functions, self.main = functions_of(module), main.body.block
        return self.block(main.body.block, arguments)

    def block(self, block: Block, arguments: Sequence[Relation]) -> list[Relation]:
        """Return the relations of the operands of the terminator of a block."""
        self.environment.update(zip(block.args, arguments, strict=True))
        found: list[Relation] = []
        for op in ops_in(block):
            note_step(op.name)
            operands = [self.environment[each] for each in op.operands]
            if op.next_op is None and not op.results:
                found = operands
                break
            for result, relation in zip(op.results, self.op(op, operands), strict=True):
                self.environment[result] = relation
                if self.table.is_recording and block is self.main and isinstance(relation, Unknown):
                    self.environment[result] = named(result, len(self.environment), self.table)
                if result in self.borders and self.is_open(relation):
                    self._cross(result, relation)
        return found

    def _cross(self, result: OpResult, relation: Relation) -> None:
        """Take the relation of a border for a result."""
        self.environment[result] = self.borders[result]
        self.crossed.append(result)
        self.unproved.add(result.op)
        if isinstance(relation, View):
            self.reasons.setdefault(result.op, f"it is {relation.term}, which the program does not compute")

    def is_open(self, relation: Relation) -> bool:
        """Return whether a value is not a window of one that the global program has."""
        return isinstance(relation, Unknown) or (isinstance(relation, View) and not self.table.is_global(relation.term))

    def region(self, region: Region, arguments: Sequence[Relation]) -> list[Relation]:
        """Return the relations of what a region returns, one level deeper."""
        self.level += 1
        found = self.block(region.block, arguments)
        self.level -= 1
        return found

    def op(self, op: Operation, operands: list[Relation]) -> list[Relation]:
        """Return the relations of the results of an op; unknown if no lemma applies."""
        self.reached.add(op)
        unknown: list[Relation] = [Unknown(shape_of(each)) for each in op.results]
        # Any two values without elements are equal; but regions may not end, and calls may have effects.
        is_computed = bool(unknown) and not op.regions and op.name not in ("func.call", "stablehlo.custom_call")
        if is_computed and all(0 in each.shape for each in unknown):
            return unknown
        pairs = zip(op.operands, operands, strict=True)
        is_known = not any(isinstance(each, Unknown) and _needs_relation(value, each) for value, each in pairs)
        if not is_known and op.name not in PARTIALLY_KNOWN:
            self.unproved.add(op)
            return unknown
        try:
            found = [as_known(each) for each in self._by_lemma(op, operands)]
        except NotProvedError as error:
            self.unproved.add(op)
            self.reasons.setdefault(op, str(error))
            return unknown
        pairs = zip(op.results, found, strict=True)
        if any(isinstance(each, Unknown) and _needs_relation(value, each) for value, each in pairs):
            self.unproved.add(op)
        self.used[op.name] += 1
        return found

    def _by_lemma(self, op: Operation, operands: list[Relation]) -> list[Relation]:
        types = [value.type for value in (*op.operands, *op.results)]
        shapes = list(map(static_shape, types))
        if any(shape is not None and 0 in shape for shape in shapes):
            raise NotProvedError(f"the proof does not support {op.name} of values without elements")
        lemma = self.lemmas.get(op.name) or self.lemma_of_others(op)
        if lemma is None:
            raise NotProvedError(f"the proof does not support {op.name}")
        if None in shapes:
            raise NotProvedError(f"expected tensors of static shape, got {types[shapes.index(None)]}")
        if self.table.is_recording and self.devices > 1 and op.name in ON_DEVICES:
            raise NotProvedError("expected an op that needs no other devices")
        return lemma(self, op, operands)

    def call(self, op: CallOp, operands: list[Relation]) -> list[Relation]:
        """Return the relations of the results of a call; the function is proved once per tuple of relations."""
        name = op.callee.root_reference.data
        # Contributions of equal relations may still be different numbers.
        own = tuple(id(each) for each in operands if isinstance(each, View) and each.partial is not None)
        key = (name, tuple(operands), self.level, own)
        if key not in self._calls:
            func = self.functions.get(name)
            if func is None or not func.body.blocks:
                raise NotProvedError(f"@{name} has no body")
            self._calls[key] = self.block(func.body.block, operands)
        return self._calls[key]

    def state(self) -> State:
        """Return what was found so far; see `restore`."""
        return State(set(self.unproved), dict(self.reasons), dict(self.lost), len(self._calls))

    def restore(self, state: State) -> None:
        """Forget what was found since `state` was taken."""
        self.unproved, self.reasons, self.lost, count = state
        for key in list(self._calls)[count:]:
            del self._calls[key]

    def variable(self, number: int, like: Term) -> Term:
        """Return the term of an argument of the region that is entered next, which has values like a term."""
        return self.table.make("variable", (self.level, number), (), like.shape, like.element)

    def fingerprint(self, region: Region) -> tuple[tuple[Term, ...], str]:
        """Return what a region on scalars computes, and the name of its op if it only combines its two arguments.

        Raises: NotProvedError if the region is not proved.
        """
        # Named apart from the level of loops, so that an op that is moved out of a loop is the same term.
        variables: list[Term] = []
        for number, value in enumerate(region.block.args):
            variables.append(self.table.make("scalar", (self.depth, number), (), (), element_of(value)))
        self.depth += 1
        found = self.block(region.block, [View(each, (), ()) for each in variables])
        self.depth -= 1
        if not all(isinstance(x, View) and not (x.dims or x.partial or x.term.is_varying) for x in found):
            raise NotProvedError("the region is not a function of scalars")
        terms = tuple(cast("View", each).term for each in found)
        kind = terms[0].op.removeprefix("stablehlo.") if len(terms) == 1 else ""
        if not kind or len(terms[0].operands) != 2 or set(terms[0].operands) != set(variables):
            return terms, ""
        kind = OF_BOOLEANS.get(kind, kind) if terms[0].element == "i1" else kind
        return terms, kind if kind in KINDS else ""


def _needs_relation(value: SSAValue, unknown: Unknown) -> bool:
    """Return whether nothing follows from a value that is not known: it has elements, and is not a token."""
    return 0 not in unknown.shape and not isinstance(value.type, TokenType)


def shape_of(value: SSAValue) -> Shape:
    """Return the shape of a value; () if it is not a tensor of static shape."""
    return static_shape(value.type) or ()


def element_of(value: SSAValue) -> str:
    """Return the element type of a tensor."""
    tensor = as_tensor(value.type)
    if tensor is None:
        raise NotProvedError("expected a tensor")
    return element_type(tensor.element_type)


def named(value: SSAValue, number: int, table: TermTable, name: str = NAMED) -> Relation:
    """Return the relation of a value of the program to itself; unknown if it has no elements to relate."""
    shape = static_shape(value.type)
    if shape is None or 0 in shape:
        return Unknown(shape_of(value))
    return whole(table.make(name, number, (), tuple(size for size in shape if size > 1), element_of(value)), shape)


def known_or_view(relation: Relation) -> View | Known:
    """Return a relation that is a window or known. Raises: NotProvedError if it is not."""
    if isinstance(relation, Unknown):
        raise NotProvedError("an operand has no known relation")
    return relation
