"""Classes of sizes that must be equal, and the equations between classes. The original sizes satisfy all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Variable = int
Positions = tuple[int, ...]  # of the devices that stay, along a dim of devices
Constant = tuple[int, int, Positions | None]


@dataclass(frozen=True, slots=True)
class Product:
    """The product of the sizes on the left equals that on the right."""

    left: tuple[Variable, ...]
    right: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of `coefficient * size` over the terms is `constant`."""

    terms: tuple[tuple[int, Variable], ...]
    constant: int


@dataclass(frozen=True, slots=True)
class Order:
    """A size that is at most another one, and less than it if it was less."""

    low: Variable
    high: Variable


Equation = Product | Sum | Order


class NoSizesError(Exception):
    """Raised if no sizes satisfy the equations, because a number of devices changes."""


def variables_of(equation: Equation) -> tuple[Variable, ...]:
    """Return the variables of an equation."""
    match equation:
        case Product():
            return equation.left + equation.right
        case Sum():
            return tuple(variable for _, variable in equation.terms)
        case Order():
            return equation.low, equation.high


@dataclass(slots=True)
class SizeClasses:
    """Variables for sizes, their classes and equations.

    `shapes` has the dims of each tensor, `programs` the program of each dim, `windows` the sizes of windows with those
    of the dims in which they are, and `attributes` the dims along which a number in an attribute is a position.
    `changes` counts how often a class was locked or got a larger least size.
    """

    sizes: list[int] = field(default_factory=list[int])
    shapes: list[tuple[Variable, ...]] = field(default_factory=list[tuple[Variable, ...]])
    programs: dict[Variable, int] = field(default_factory=dict[Variable, int])
    windows: list[tuple[Variable, ...]] = field(default_factory=list[tuple[Variable, ...]])
    attributes: dict[Variable, tuple[Variable, ...]] = field(default_factory=dict[Variable, tuple[Variable, ...]])
    equations: list[Equation] = field(default_factory=list[Equation])
    changes: int = 0
    _parents: list[Variable] = field(default_factory=list[Variable])
    _locks: dict[Variable, str] = field(default_factory=dict[Variable, str])
    _least: dict[Variable, int] = field(default_factory=dict[Variable, int])
    _constants: dict[Constant, Variable] = field(default_factory=dict[Constant, Variable])
    _positions: dict[Variable, Positions] = field(default_factory=dict[Variable, Positions])
    _fixed: dict[Variable, int] = field(default_factory=dict[Variable, int])

    def new(self, size: int, program: int | None = None) -> Variable:
        """Return a new variable, or the constant of that value for a size that cannot be smaller."""
        if size <= 1:
            return self.constant(size)
        self.sizes.append(size)
        self._parents.append(len(self._parents))
        variable = len(self._parents) - 1
        if program is not None:
            self.programs[variable] = program
        return variable

    def constant(self, value: int, after: int | None = None, positions: Positions | None = None) -> Variable:
        """Return a variable that keeps its value, or that becomes `after`: a number of devices.

        `positions` are those of the devices that stay, along a dim of devices.
        """
        key = (value, value if after is None else after, positions)
        if key not in self._constants:
            self.sizes.append(value)
            self._parents.append(len(self._parents))
            self._constants[key] = variable = len(self._parents) - 1
            self._locks[variable] = "a number of devices or of parts"
            self._fixed[variable] = key[1]
            if positions is not None:
                self._positions[variable] = positions
        return self._constants[key]

    def positions(self, variable: Variable) -> Positions | None:
        """Return the positions of the devices that stay along a dim of devices; None for any other dim."""
        return self._positions.get(self.root(variable))

    def is_constant(self, variable: Variable) -> bool:
        """Return whether a class is a constant that does not change."""
        root = self.root(variable)
        return root in self._fixed and self._fixed[root] == self.sizes[root]

    def fixed(self, root: Variable) -> int:
        """Return the size that a class has afterwards if it is kept."""
        return self._fixed.get(root, self.sizes[root])

    def root(self, variable: Variable) -> Variable:
        """Return the representative of the class of a variable."""
        parents = self._parents
        while parents[variable] != variable:
            parents[variable] = parents[parents[variable]]
            variable = parents[variable]
        return variable

    def tie(self, one: Variable, other: Variable) -> None:
        """Put two variables of equal size into one class."""
        one, other = self.root(one), self.root(other)
        if one == other:
            return
        if self.sizes[one] != self.sizes[other]:
            raise ValueError(f"expected equal sizes, got {self.sizes[one]} and {self.sizes[other]}")
        if other in self._fixed and one not in self._positions:  # a constant stays a root
            one, other = other, one
        if self.fixed(one) != self._fixed.get(other, self.fixed(one)):
            raise NoSizesError(f"{self.sizes[one]} would become {self.fixed(one)} and {self.fixed(other)}")
        if self._positions.get(one) != self._positions.get(other, self._positions.get(one)):
            raise NoSizesError(f"other devices would stay along a dim of {self.sizes[one]}")
        if other not in self._fixed:
            _check_kept(self.sizes[one], self.fixed(one), self._locks.get(other))
        self._parents[other] = one
        if other in self._locks:
            self._locks.setdefault(one, self._locks[other])
        self._least[one] = max(self.least(one), self.least(other))

    def tie_product(self, left: Sequence[Variable], right: Sequence[Variable]) -> None:
        """Add an equation of products; sizes of 1 are left out."""
        one, other = (tuple(each for each in side if self.sizes[each] != 1) for side in (left, right))
        if len(one) == 1 and len(other) == 1:
            self.tie(one[0], other[0])
        elif one or other:
            self.equations.append(Product(one, other))

    def tie_sum(self, terms: Sequence[tuple[int, Variable]], constant: int) -> None:
        """Add an equation of a sum."""
        self.equations.append(Sum(tuple(terms), constant))
        self.windows.append(tuple(variable for _, variable in terms))

    def tie_line(self, factor: int, one: Variable, other_factor: int, other: Variable) -> None:
        """Keep the difference of the multiples of two sizes, such as an input and the windows that move along it."""
        difference = factor * self.sizes[one] - other_factor * self.sizes[other]
        self.equations.append(Sum(((factor, one), (-other_factor, other)), difference))

    def order(self, low: Variable, high: Variable) -> None:
        """Add that a size, or the end of a window, is at most another one."""
        self.equations.append(Order(low, high))
        self.windows.append((low, high))

    def lock(self, variable: Variable, reason: str) -> None:
        """Keep the size of a class, for a reason that reports show.

        Raises: NoSizesError if it is a number of devices that changes.
        """
        root = self.root(variable)
        _check_kept(self.sizes[root], self.fixed(root), reason)
        self.changes += root not in self._locks
        self._locks.setdefault(root, reason)

    def lock_reason(self, variable: Variable) -> str | None:
        """Return why the size of a class is kept; None if it is not."""
        return self._locks.get(self.root(variable))

    def least(self, variable: Variable) -> int:
        """Return the least size that a class may have."""
        if variable in self._fixed:
            return self._fixed[variable]
        return self._least.get(variable, min(2, self.sizes[variable]))

    def raise_least(self, variable: Variable, least: int) -> None:
        """Require a size of at least `least`, or the original one if that is smaller."""
        root = self.root(variable)
        raised = max(self.least(root), min(least, self.sizes[root]))
        self.changes += raised != self._least.get(root)
        self._least[root] = raised

    def roots(self) -> list[Variable]:
        """Return the representatives of all classes."""
        return [each for each, parent in enumerate(self._parents) if each == parent]


def _check_kept(size: int, after: int, reason: str | None) -> None:
    """Raise NoSizesError if a size is to be kept for a reason, but changes."""
    if reason is not None and after != size:
        raise NoSizesError(f"{size} would become {after}, but {reason}")
