"""The ties that the ops of one program put on sizes: which dims are equal, products or sums of each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.evidence.sizes.devices import SmallerMesh
from sdy.evidence.sizes.index_values import IndexValues
from sdy.evidence.sizes.size_classes import Positions, SizeClasses, Variable
from sdy.model.rule import FactorIndex, OpShardingRule
from sdy.rules.partitioner_rules import own_rule

Ints = tuple[int, ...]


def ints_in(attribute: Attribute) -> Ints:
    """Return the integers of an attribute; those of a table row by row."""
    if isinstance(attribute, IntegerAttr):
        return (cast("IntegerAttr", attribute).value.data,)
    return attribute.get_ints() if isinstance(attribute, DenseElementsAttr) else ints_of(attribute)


def with_ints(attribute: Attribute, ints: Sequence[int]) -> Attribute:
    """Return an attribute of the same kind and type with other integers."""
    if isinstance(attribute, IntegerAttr):
        return IntegerAttr(ints[0], cast("IntegerAttr", attribute).type)
    if isinstance(attribute, DenseElementsAttr):
        return DenseElementsAttr.from_values(attribute.type, ints)
    return DenseArrayBase.from_list(i64, ints)


SEVERAL = 4  # elements, so that there is a combination of combinations

AttributeKey = tuple[Operation, str, int]


@dataclass(slots=True)
class Ties:
    """The variables of the dims and attributes of one program, and what ties them."""

    classes: SizeClasses
    program: int
    functions: dict[str, FuncOp]
    values: IndexValues
    mesh: SmallerMesh = field(default_factory=SmallerMesh)
    dims: dict[SSAValue, tuple[Variable, ...]] = field(default_factory=dict[SSAValue, tuple[Variable, ...]])
    splits: list[tuple[Variable, Sequence[Variable]]] = field(default_factory=lambda: [])  # dims, and their parts
    attributes: dict[AttributeKey, Variable] = field(default_factory=dict[AttributeKey, Variable])

    def of(self, value: SSAValue) -> tuple[Variable, ...]:
        """Return the variables of the dims of a value; none if it is not a tensor.

        Raises: SdyError SDY-X152 for a dim of unknown size.
        """
        found = self.dims.get(value)
        if found is None:
            tensor = as_tensor(value.type)
            shape = () if tensor is None else tensor.get_shape()
            if DYNAMIC_INDEX in shape:
                owner = value.owner
                op = owner if isinstance(owner, Operation) else owner.parent_op()
                message = f"a program with dims of unknown size cannot be reduced: {value.type}"
                raise SdyError(Diagnostic("SDY-X152", message, None if op is None else span_of(op)))
            found = self.dims[value] = tuple(self.classes.new(size, self.program) for size in shape)
            self.classes.shapes.append(found)
        return found

    def attribute(self, op: Operation, name: str, index: int, *dims: Variable) -> Variable:
        """Return the variable of a number in an attribute, a position along `dims`.

        Numbers below 2 are constants.
        """
        key = (op, name, index)
        if key not in self.attributes:
            variable = self.classes.new(ints_in(op.properties[name])[index])
            self.attributes[key] = variable
            self.classes.attributes[variable] = dims
        return self.attributes[key]

    def same_dims(self, *values: SSAValue, but: Sequence[int] = ()) -> None:
        """Tie all dims of values of one shape, except those in `but`."""
        first = self.of(values[0])
        for value in values[1:]:
            for dim, pair in enumerate(zip(first, self.of(value), strict=True)):
                if dim not in but:
                    self.tie(*pair)

    def same_factors(self, op: Operation, rule: OpShardingRule) -> None:
        """Tie the dims that are the same factor of the sharding rule of an op, and nothing else."""
        firsts: dict[FactorIndex, Variable] = {}
        for value, dims in zip((*op.operands, *op.results), (*rule.operands, *rule.results), strict=True):
            for variable, factors in zip(self.of(value), dims, strict=True):
                if len(factors) == 1:
                    self.tie(firsts.setdefault(factors[0], variable), variable)

    def same(self, *values: SSAValue) -> None:
        """Tie the dims of values of one shape, which are measured alike too."""
        self.same_dims(*values)
        self.values.same(*values)

    def all_same(self, *groups: Sequence[SSAValue]) -> None:
        """Tie the first values of all groups, the second values, and so on."""
        for values in zip(*groups, strict=True):
            self.same(*values)

    def tie(self, one: Variable, other: Variable) -> None:
        """Put two variables of equal size into one class."""
        self.classes.tie(one, other)

    def tie_ratio(
        self, small: Variable, large: Variable, after: int | None = None, positions: Positions | None = None
    ) -> None:
        """Tie a size to a multiple of it, which becomes the `after`-fold, by default the same multiple.

        `positions` are those of the devices that stay, if the multiple is that of a dim of devices.
        """
        sizes = self.classes.sizes
        if sizes[small] == sizes[large] == 0:
            return  # an empty dim stays empty
        count, rest = divmod(sizes[large], max(1, sizes[small]))
        if rest or not sizes[small]:
            raise ValueError(f"expected a multiple of {sizes[small]}, got {sizes[large]}")
        self.classes.tie_product((self.classes.constant(count, after, positions), small), (large,))

    def tie_device_parts(self) -> None:
        """Tie the parts of dims of devices to the numbers of coordinates of the devices that stay.

        Parts may be dims of devices that have parts again.
        """
        count = -1
        while count != (count := sum(self._tie_parts(devices, parts) for devices, parts in self.splits)):
            pass

    def _tie_parts(self, devices: Variable, parts: Sequence[Variable]) -> bool:
        """Tie the parts of a dim if it is a dim of devices; return whether it is."""
        positions = self.classes.positions(devices)
        if positions is None:
            return False
        shape = tuple(self.classes.sizes[part] for part in parts)
        for part, size, coordinates in zip(parts, shape, np.unravel_index(np.array(positions), shape), strict=True):
            kept = tuple(sorted(set(coordinates.tolist())))
            if len(kept) != size:
                self.tie(part, self.classes.constant(size, len(kept), kept))
        return True

    def lock(self, value: SSAValue, reason: str, dims: Sequence[int] | None = None) -> None:
        """Keep the sizes of all dims of a value, or of some."""
        variables = self.of(value)
        for dim in range(len(variables)) if dims is None else dims:
            self.classes.lock(variables[dim], reason)

    def keep_several(self, body: Block, value: SSAValue, dims: Sequence[int]) -> None:
        """Keep some elements along dims that are combined or compared by a body of several ops.

        Of two elements, it uses a combination only as a result: what later steps read of it makes no difference.
        """
        if len(body.ops) > 2:
            variables = self.of(value)
            for dim in dims:
                self.classes.raise_least(variables[dim], SEVERAL)

    def lock_all(self, op: Operation) -> None:
        """Keep the sizes of all operands and results of an op whose sizes are not understood."""
        for value in (*op.operands, *op.results):
            self.lock(value, f"{op.name} keeps its sizes")


def by_rule(op: Operation, ties: Ties) -> None:
    """Tie the dims that share a factor of the sharding rule of an op, which has one."""
    rule = own_rule(op)
    assert rule is not None
    ties.same_factors(op, rule)
