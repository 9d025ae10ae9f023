"""Insertion of new ops before one op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue

from sdy.dialects.ir.fast_ops import make_op

OpT = TypeVar("OpT", bound=Operation)
Properties = dict[str, Attribute]


class OpInserter:
    """Inserts ops before one op. New ops have the location of that op, or `location`."""

    def __init__(self, before: Operation, location: LocationAttr | None = None) -> None:
        self._before = before
        self._location = location or before.location

    def op(
        self,
        op_class: type[OpT],
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        properties: Properties | None = None,
        regions: Sequence[Region] = (),
    ) -> OpT:
        """Insert an op and return it."""
        new = make_op(op_class, operands, result_types, properties or {}, {}, self._location, regions)
        block = self._before.parent
        assert block is not None
        block.insert_op_before(new, self._before)
        return new

    def value(
        self,
        op_class: type[Operation],
        operands: Sequence[SSAValue],
        result_type: Attribute,
        properties: Properties | None = None,
        regions: Sequence[Region] = (),
    ) -> SSAValue:
        """Insert an op with one result and return the result."""
        return self.op(op_class, operands, [result_type], properties, regions).results[0]
