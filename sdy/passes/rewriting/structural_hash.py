"""Structural hashes of ops: equal for ops that differ only in the producers of their operands."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from xdsl.ir import Attribute, Operation, SSAValue, Use

from sdy.dialects.ir.fast_ops import operands_of, type_of
from sdy.dialects.ir.walk import blocks_of, pre_order, reached


class StructuralHash:
    """Numbers the structures of ops. Keeps the attributes of all hashed ops alive, since it finds them by id()."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        # By id(): equal attributes are mostly one object. It is kept alive, so that no new object gets its id.
        self._of_attribute: dict[int, tuple[Attribute, int]] = {}
        self._of_op: dict[Hashable, int] = {}  # by the ids of the attributes

    def of(self, op: Operation) -> int:
        """Return the number of the op's structure: name, attributes, types, and the ops in its regions."""
        inside = tuple(self._inside(op)) if op.regions else ()
        identity = _identity(op), inside
        found = self._of_op.get(identity)
        if found is None:
            found = self._of_op[identity] = self._number((self._structure(op), inside))
        return found

    def _structure(self, op: Operation) -> Hashable:
        named = {**op.properties, **op.attributes}
        names = sorted(named)
        return (
            type(op),
            len(op.results),
            *names,
            *map(self._attribute, map(named.__getitem__, names)),
            *map(self._attribute, map(type_of, operands_of(op))),
            *map(self._attribute, map(type_of, op.results)),
        )

    def _attribute(self, attribute: Attribute) -> int:
        found = self._of_attribute.get(id(attribute))
        if found is None:
            found = self._of_attribute[id(attribute)] = attribute, self._number(attribute)
        return found[1]

    def _number(self, structure: Hashable) -> int:
        return self._numbers.setdefault(structure, len(self._numbers))

    def of_regions(self, op: Operation) -> tuple[Hashable, ...]:
        """Return the structure of the regions of an op; every captured value counts as -1."""
        return tuple(self._inside(op))

    def _inside(self, op: Operation) -> Iterator[Hashable]:
        numbers: dict[SSAValue, int] = {}
        for block in blocks_of(op):
            yield len(block.args)
            for argument in block.args:
                numbers[argument] = len(numbers)
                yield self._attribute(argument.type)
            for inner in block.ops:
                yield self.of(inner)
                for operand in operands_of(inner):
                    yield numbers.get(operand, -1)
                for result in inner.results:
                    numbers[result] = len(numbers)


def _identity(op: Operation) -> Hashable:
    """Return a key that is cheap to compute and equal only for ops of equal structure, regions apart."""
    properties, attributes = op.properties, op.attributes
    return (
        type(op),
        len(op.results),
        *properties,
        *attributes,
        *map(id, properties.values()),
        *map(id, attributes.values()),
        *map(id, map(type_of, operands_of(op))),
        *map(id, map(type_of, op.results)),
    )


def used_from_outside(op: Operation) -> Sequence[SSAValue]:
    """Return the operands of an op, followed by the values that its regions capture."""
    own = operands_of(op)
    return [*own, *(use.operation.operands[use.index] for use in uses_inside(op))] if op.regions else own


def producers(values: Iterable[SSAValue], is_among: Callable[[Operation], bool]) -> set[Operation]:
    """Return the ops that compute values, and those that compute their operands, as long as they are among some."""

    def among(owned: Iterable[SSAValue]) -> Iterator[Operation]:
        return (op for value in owned if isinstance(op := value.owner, Operation) and is_among(op))

    return set(reached(among(values), lambda op: among(used_from_outside(op))))


def uses_inside(op: Operation) -> list[Use]:
    """Return the uses of captured values in the regions of an op."""
    return [
        Use(user, index)
        for user in pre_order(op)
        for index, operand in enumerate(operands_of(user))
        if not op.is_ancestor(operand.owner)
    ]
