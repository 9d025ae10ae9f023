"""Chooses small sizes that satisfy all equations: the smallest class first, then whatever follows from the choice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import prod

from sdy.evidence.sizes.connections import lock_windows
from sdy.evidence.sizes.index_values import mapped
from sdy.evidence.sizes.size_classes import (
    Equation,
    NoSizesError,
    Order,
    Product,
    SizeClasses,
    Sum,
    Variable,
    variables_of,
)

UNSATISFIABLE = "no smaller size satisfies the equations of its class"
MOST_CANDIDATES = 48  # that are tried per class, before its size is kept


class Solver:
    """Chooses a size per class. A choice that contradicts an equation is undone."""

    def __init__(self, classes: SizeClasses) -> None:
        self._classes = classes
        self._roots = classes.roots()
        self._equations: dict[Variable, list[Equation]] = defaultdict(list)
        for equation in dict.fromkeys(_of_roots(each, classes) for each in classes.equations):
            for root in set(variables_of(equation)):
                self._equations[root].append(equation)
        self._values: dict[Variable, int] = {}
        self._trail: list[Variable] = []
        self._dims = {classes.root(each) for shape in classes.shapes for each in shape}
        self._before: dict[int, Counter[int]] = defaultdict(Counter)  # sizes of dims, by the new size that they have
        self._positions: dict[Variable, tuple[Variable, ...]] = {}
        for variable, along in classes.attributes.items():
            if (root := classes.root(variable)) not in self._dims:
                self._positions[root] = tuple(map(classes.root, along))

    def solve(self) -> dict[Variable, int]:
        """Return the new size of each class.

        Raises: NoSizesError if there are none; the original sizes are, unless a number of devices changes.
        """
        classes = self._classes
        lock_windows(classes)
        locked = [root for root in self._roots if classes.lock_reason(root) is not None]
        while True:
            self._values, self._trail, self._before = {}, [], defaultdict(Counter)
            for root in locked:
                self._set(root, classes.fixed(root))
            if not self._follow(locked):
                raise NoSizesError("the sizes that are kept contradict each other")
            failed = self._choose_all()
            kept = [failed] if failed is not None else self._smaller_windows()
            if not kept:
                return self._values
            reason = "a dim in which it is a window stays as large" if failed is None else UNSATISFIABLE
            for root in kept:
                classes.lock(root, reason)
            locked += kept

    def _choose_all(self) -> Variable | None:
        """Choose the sizes of all classes, and return the first for which none is possible."""
        for root in sorted(self._roots, key=lambda each: (each in self._positions, self._classes.sizes[each], each)):
            if root not in self._values and not self._choose(root):
                return root
        return None

    def _smaller_windows(self) -> list[Variable]:
        """Return the windows that became smaller in a dim that did not: they would end elsewhere in it."""
        values, sizes = self._values, self._classes.sizes
        orders = (each for equations in self._equations.values() for each in equations if isinstance(each, Order))
        found = (each.low for each in orders if values[each.high] == sizes[each.high])
        return list(dict.fromkeys(window for window in found if values[window] < sizes[window]))

    def _choose(self, root: Variable) -> bool:
        """Choose the smallest size that keeps different sizes different; failing that, the smallest possible one."""
        first_possible = 0
        for value in self._candidates(root):
            mark = len(self._trail)
            if self._set(root, value) and self._follow([root]):
                if not self._has_collision(mark):
                    return True
                first_possible = first_possible or value
            self._undo(mark)
        return bool(first_possible) and self._set(root, first_possible) and self._follow([root])

    def _candidates(self, root: Variable) -> Iterable[int]:
        least, size = self._classes.least(root), self._classes.sizes[root]
        if root in self._positions:
            sizes = ((self._classes.sizes[each], self._values.get(each, 0)) for each in self._positions[root])
            position = mapped(size, tuple(sorted(each for each in sizes if min(each) > 0)), 1)
            if position is not None:
                yield int(position)
        yield from range(least, min(size, least + MOST_CANDIDATES))
        yield size

    def _set(self, root: Variable, value: int) -> bool:
        """Give a class a size; return False if the size is out of range or contradicts the one that it has."""
        if root in self._values:
            return self._values[root] == value
        if not self._classes.least(root) <= value <= self._classes.sizes[root]:
            return False
        self._values[root] = value
        self._trail.append(root)
        if root in self._dims:
            self._before[value][self._classes.sizes[root]] += 1
        return True

    def _undo(self, mark: int) -> None:
        for root in self._trail[mark:]:
            value = self._values.pop(root)
            if root in self._dims:
                self._before[value][self._classes.sizes[root]] -= 1
        del self._trail[mark:]

    def _has_collision(self, mark: int) -> bool:
        """Return whether a dim that was set since `mark` is as large as another one, from which it differed.

        A fault that confuses the two, such as a shard and its dim in programs that no line ties, would not be seen.
        """
        dims = (root for root in self._trail[mark:] if root in self._dims)
        return any(len(+self._before[self._values[root]]) > 1 for root in dims)

    def _follow(self, changed: Sequence[Variable]) -> bool:
        """Set what follows from classes that were set; return False if something contradicts."""
        pending = list(changed)
        while pending:
            for equation in self._equations[pending.pop()]:
                found = self._solved(equation)
                if found is False:
                    return False
                if found is not True:
                    root, value = found
                    if not self._set(root, value):
                        return False
                    pending.append(root)
        return True

    def _solved(self, equation: Equation) -> bool | tuple[Variable, int]:
        """Return whether an equation holds, or may, or the only class that is left and the size that it must have."""
        match equation:
            case Product():
                return self._solved_product(equation)
            case Sum():
                return self._solved_sum(equation)
            case Order():
                return self._is_in_order(equation)

    def _solved_product(self, equation: Product) -> bool | tuple[Variable, int]:
        unknown: list[Variable] = []
        known: list[int] = []
        for side in (equation.left, equation.right):
            unknown += [root for root in side if root not in self._values]
            known.append(prod(self._values.get(root, 1) for root in side))
            if len(unknown) > 1:
                return True
        left, right = known
        if not unknown:
            return left == right
        total, factor = (right, left) if unknown[0] in equation.left else (left, right)
        return (unknown[0], total // factor) if factor and total % factor == 0 else False

    def _solved_sum(self, equation: Sum) -> bool | tuple[Variable, int]:
        coefficients: dict[Variable, int] = defaultdict(int)
        rest = equation.constant
        for coefficient, root in equation.terms:
            if root in self._values:
                rest -= coefficient * self._values[root]
            else:
                coefficients[root] += coefficient
        unknown = {root: each for root, each in coefficients.items() if each}
        if not unknown:
            return rest == 0
        if len(unknown) > 1:
            return True
        ((root, coefficient),) = unknown.items()
        return (root, rest // coefficient) if rest % coefficient == 0 else False

    def _is_in_order(self, equation: Order) -> bool:
        roots = equation.low, equation.high
        if any(root not in self._values for root in roots):
            return True
        low, high = (self._values[root] for root in roots)
        was_less = self._classes.sizes[roots[0]] < self._classes.sizes[roots[1]]
        return low < high if was_less else low <= high


def _of_roots(equation: Equation, classes: SizeClasses) -> Equation:
    """Return an equation with the representatives of its classes."""
    match equation:
        case Product():
            left, right = (tuple(sorted(map(classes.root, side))) for side in (equation.left, equation.right))
            return Product(left, right)
        case Sum():
            return Sum(tuple((each, classes.root(variable)) for each, variable in equation.terms), equation.constant)
        case Order():
            return Order(classes.root(equation.low), classes.root(equation.high))
