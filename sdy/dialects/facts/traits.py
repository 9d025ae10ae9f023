"""Traits that state facts about an op, and the questions by which every stage asks for them.

Declare the traits that are true of an op of your own dialect, and it is treated like the ops of StableHLO:

    class ScaleOp(IRDLOperation):
        name = "mine.scale"
        traits = traits_def(Pure(), Elementwise())

What a stage does with an op stands in its `OpTable`. A set of ops in a stage is its policy, not a fact, and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.traits import (
    EffectInstance,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    OpTrait,
    SymbolOpInterface,
    is_side_effect_free,
)

from sdy.model.collective import CollectiveKind
from sdy.model.rule import OpShardingRule
from sdy.model.sharding import ReductionKind


class Elementwise(OpTrait):
    """A trait of ops that compute each result element from the operand elements at the same index.

    All tensors have the same shape and sharding, apart from scalars. The op needs no sharding rule, and is propagated
    through before other ops, like StableHLO's elementwise ops.
    """


class PassesThrough(OpTrait):
    """A trait of ops whose results are their operands: result i is operand i. They annotate, or order other ops."""


class Generates(OpTrait):
    """A trait of ops whose results depend on attributes alone: any device can compute any part of them."""


@dataclass(frozen=True)
class MovesElements(OpTrait):
    """A trait of ops each of whose result elements is an element of an operand or a given padding value.

    `is_selection`: the op reads, of its first operand, only the elements of the result; other operands are indices.
    """

    is_selection: bool = False


@dataclass(frozen=True)
class ComputesBy(OpTrait):
    """A trait of ops without regions that compute exactly as a sharding rule says: a lemma for `sdy prove`.

    `lemma` returns the rule of an op. On slices along factors that pass through, the op computes the slices of its
    results; on slices along reductions, parts of which its results are the sums. The proof relies on it.
    """

    lemma: Callable[[Any], OpShardingRule]  # of an op of the class that has the trait


class Contraction(OpTrait):
    """A trait of ops that multiply elements of two operands and add many products."""


class RegionOnElements(OpTrait):
    """A trait of ops whose region is a function of single elements, such as the body of a reduction, not of tensors."""


class Linearity(Enum):
    """The operands in which an op is linear: f(a) + f(b) = f(a + b)."""

    FIRST = auto()  # in the first; the others are indices or sizes
    ALL = auto()  # in all together, like a sum
    EACH = auto()  # in each alone, like a product


@dataclass(frozen=True)
class LinearIn(OpTrait):
    """A trait of ops that are linear, so that partial sums may pass through them."""

    operands: Linearity


@dataclass(frozen=True)
class CollectiveOf(OpTrait):
    """A trait of ops that communicate between devices, by a collective of this kind."""

    kind: CollectiveKind


@dataclass(frozen=True)
class StoresShardings(OpTrait):
    """A trait of ops that store shardings in these properties, not in the attribute `sdy.sharding`."""

    properties: tuple[str, ...]


class DividesItsShardings(OpTrait):
    """A trait of ops at whose operands and results the shards must be even, as at the ends of a program."""


class Identity(Enum):
    """The element that a combiner combines with any other to that other one."""

    ZERO = auto()  # for floats -0.0, since -0.0 + 0.0 is 0.0
    ONE = auto()
    ALL_ONES = auto()  # bits
    LEAST = auto()
    LARGEST = auto()


@dataclass(frozen=True)
class Combiner(OpTrait):
    """A trait of binary ops that may combine many elements in any order: they are associative and commutative.

    `kind` is the reduction of partial values that combines them like the op, and `kind_of_booleans` the same for
    booleans.
    """

    identity: Identity
    is_idempotent: bool = False  # a value may be combined several times
    kind: ReductionKind | None = None
    kind_of_booleans: ReductionKind | None = None

    def kind_for(self, element_type: Attribute) -> ReductionKind | None:
        """Return the reduction that combines partial values of an element type like the op; None if there is none."""
        return self.kind or (self.kind_of_booleans if element_type == i1 else None)


def is_elementwise(op: Operation) -> bool:
    """Return whether each result element depends only on the operand elements at its index."""
    return has_fact(type(op), Elementwise)


def passes_through(op: Operation) -> bool:
    """Return whether result i of an op is its operand i."""
    return has_fact(type(op), PassesThrough)


def generates(op: Operation) -> bool:
    """Return whether the results of an op depend on its attributes alone."""
    return has_fact(type(op), Generates)


def moves_elements(op: Operation) -> bool:
    """Return whether each result element is an element of an operand or a given padding value."""
    return has_fact(type(op), MovesElements)


@cache
def selects_elements(op_class: type[Operation]) -> bool:
    """Return whether ops of a class read only those elements of their first operand that they return."""
    found = op_class.get_trait(MovesElements)
    return found is not None and found.is_selection


def has_region_on_elements(op: Operation | None) -> bool:
    """Return whether the region of an op is a function of single elements."""
    return op is not None and has_fact(type(op), RegionOnElements)


@cache
def linearity(op_class: type[Operation]) -> Linearity | None:
    """Return the operands in which ops of a class are linear; None if they are not."""
    found = op_class.get_trait(LinearIn)
    return None if found is None else found.operands


@cache
def collective_kind(op_class: type[Operation]) -> CollectiveKind | None:
    """Return the kind of collective that ops of a class are; None if they do not communicate."""
    found = op_class.get_trait(CollectiveOf)
    return None if found is None else found.kind


@cache
def sharding_properties(op_class: type[Operation]) -> tuple[str, ...]:
    """Return the properties in which ops of a class store shardings; none for the attribute `sdy.sharding`."""
    found = op_class.get_trait(StoresShardings)
    return () if found is None else found.properties


@cache
def as_combiner(op_class: type[Operation]) -> Combiner | None:
    """Return how ops of a class combine many elements, or None if they cannot."""
    return op_class.get_trait(Combiner)


def combiners_of(body: Block) -> tuple[type[Operation], ...] | None:
    """Return the class of the op that defines each value that a body returns.

    The block arguments are the accumulated values, one per result, then the new ones. Returns None if a returned value
    is not the result of a binary op on its two arguments.
    """
    end = body.last_op
    count = len(body.args) // 2
    if end is None or 2 * len(end.operands) != len(body.args):
        return None
    found = [value.owner for value in end.operands]
    pairs = zip(found, body.args[:count], body.args[count:], strict=True)
    if any(isinstance(op, Block) or len(op.operands) != 2 or {*op.operands} != {*pair} for op, *pair in pairs):
        return None
    return tuple(type(op) for op in found if isinstance(op, Operation))


def are_combiners(op_classes: Iterable[type[Operation]]) -> bool:
    """Return whether ops of all these classes may combine many elements in any order."""
    return all(map(as_combiner, op_classes))


def is_terminator(op: Operation) -> bool:
    """Return whether the op's class is a terminator. Cached, because xDSL searches all traits at each call."""
    return has_fact(type(op), IsTerminator)


def terminator_of(region: Region) -> Operation:
    """Return the op that ends the only block of a region. The module was verified: there is one."""
    last = region.block.last_op
    assert last is not None
    return last


@cache
def has_fact(op_class: type[Operation], trait: type[OpTrait]) -> bool:
    """Return whether ops of a class have a trait. Cached, because xDSL searches all traits at each call."""
    return op_class.has_trait(trait, value_if_unregistered=False)


_WRITE_EFFECT: AbstractSet[EffectInstance] = frozenset((EffectInstance(MemoryEffectKind.WRITE),))
_NO_EFFECT: AbstractSet[EffectInstance] = frozenset()


class SideEffectByProperty(MemoryEffect):
    """A trait of ops that have a side effect if their property `has_side_effect` is true."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        flag = op.properties.get("has_side_effect")
        return _WRITE_EFFECT if isinstance(flag, IntegerAttr) and flag.value.data else _NO_EFFECT


def is_trivially_dead(op: Operation) -> bool:
    """Return whether the op can be erased: no result is used, and neither it nor an op inside has a side effect.

    Terminators and symbols are never dead. Source: docs/spec/02, 1.6.
    """
    if op.has_trait(IsTerminator) or op.has_trait(SymbolOpInterface):
        return False
    return all(result.first_use is None for result in op.results) and is_side_effect_free(op)
