"""What ops look like: two ops of one look are the same but for where their operands come from."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from xdsl.ir import Attribute, Block, Operation, SSAValue, Use

from sdy.dialects.ir.fast_ops import operands_of, type_of
from sdy.dialects.ir.walk import pre_order


class OpLooks:
    """Numbers looks. As long as it lives, the attributes it has seen may not change, nor go away."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        # By identity: equal ones are mostly one and the same object. It is kept, so that its identity stays its own.
        self._of_attribute: dict[int, tuple[Attribute, int]] = {}
        self._of_op: dict[Hashable, int] = {}  # by the identities of the attributes

    def of(self, op: Operation) -> int:
        """The number of the look of an op: name, attributes, types, and all that is inside."""
        inside = tuple(self._inside(op)) if op.regions else ()
        identity = _identity(op), inside
        found = self._of_op.get(identity)
        if found is None:
            found = self._of_op[identity] = self._number((self._look(op), inside))
        return found

    def _look(self, op: Operation) -> Hashable:
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

    def _number(self, look: Hashable) -> int:
        return self._numbers.setdefault(look, len(self._numbers))

    def inside(self, op: Operation) -> tuple[Hashable, ...]:
        """The look of the regions of an op; what is used from outside of it is a mere -1."""
        return tuple(self._inside(op))

    def _inside(self, op: Operation) -> Iterator[Hashable]:
        places: dict[SSAValue, int] = {}
        for block in _blocks_inside(op):
            yield len(block.args)
            for argument in block.args:
                places[argument] = len(places)
                yield self._attribute(argument.type)
            for inner in block.ops:
                yield self.of(inner)
                for operand in operands_of(inner):
                    yield places.get(operand, -1)
                for result in inner.results:
                    places[result] = len(places)


def _identity(op: Operation) -> Hashable:
    """The same for two ops only if they look the same but for what is inside, and quick to find."""
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
    """The operands of an op, then those in its regions that are no results or arguments inside of it."""
    own = operands_of(op)
    return [*own, *(use.operation.operands[use.index] for use in uses_inside(op))] if op.regions else own


def uses_inside(op: Operation) -> list[Use]:
    """The operands of ops in the regions of an op that come from outside of it."""
    return [
        Use(user, index)
        for user in pre_order(op)
        for index, operand in enumerate(operands_of(user))
        if not _is_inside(operand, op)
    ]


def _is_inside(value: SSAValue, op: Operation) -> bool:
    around = value.owner.parent_op()
    while around is not None and around is not op:
        around = around.parent_op()
    return around is op


def _blocks_inside(op: Operation) -> Iterable[Block]:
    return [block for region in op.regions for block in region.blocks]
