"""Connections between classes of sizes: which ones equations tie to another program, and which occur in one sum."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from sdy.dialects.ir.walk import reached
from sdy.evidence.sizes.size_classes import Product, SizeClasses, Sum, Variable, variables_of

ALL_PROGRAMS = {0, 1}  # the program and its local program


def lock_unshared(classes: SizeClasses) -> None:
    """Keep the sizes that no equation ties to sizes of the other program."""
    parents: dict[Variable, Variable] = {}

    def group(variable: Variable) -> Variable:
        variable = classes.root(variable)
        while (parent := parents.setdefault(variable, variable)) != variable:
            parents[variable] = variable = parents[parent]  # shorter paths: a class may have all layers
        return variable

    for equation in classes.equations:
        found = [each for each in variables_of(equation) if not classes.is_constant(each)]
        for one, other in pairwise(found):
            parents[group(one)] = group(other)
    owners: dict[Variable, set[int]] = {}
    for variable, program in classes.programs.items():
        owners.setdefault(group(variable), set()).add(program)
    for variable in variables_with_fewer_devices(classes):  # a number of devices is that of both programs
        owners.setdefault(group(variable), set()).update(ALL_PROGRAMS)
    for variable in classes.programs:
        if owners[group(variable)] != ALL_PROGRAMS:
            classes.lock(variable, "only one of the programs has this size")


def variables_with_fewer_devices(classes: SizeClasses) -> list[Variable]:
    """Return the classes of numbers of devices that change."""
    return [root for root in classes.roots() if classes.fixed(root) != classes.sizes[root]]


def related_classes(classes: SizeClasses) -> dict[Variable, set[Variable]]:
    """Return the classes that occur in a sum with a class: a dim before a padding, slice or concatenation."""
    found: dict[Variable, set[Variable]] = {}
    for equation in classes.equations:
        if isinstance(equation, Sum):
            roots = {classes.root(each) for _, each in equation.terms if each not in classes.attributes}
            roots = {root for root in roots if classes.sizes[root] > 1}
            for root in roots:
                found.setdefault(root, set()).update(roots)
    return found


def parts_of_wholes(classes: SizeClasses, related: Mapping[Variable, set[Variable]]) -> dict[Variable, set[Variable]]:
    """Return, per class of shards, the classes that occur in a sum with the dims that they are shards of."""
    wholes: dict[Variable, set[Variable]] = {}
    for equation in classes.equations:
        if isinstance(equation, Product) and len(equation.right) == 1:
            for shard in equation.left:
                wholes.setdefault(classes.root(shard), set()).add(classes.root(equation.right[0]))
    found: dict[Variable, set[Variable]] = {}
    for shard in wholes:
        above = reached(wholes[shard], lambda each: wholes.get(each, ()))  # a whole may be a shard itself
        found[shard] = {part for whole in above for part in related.get(whole, ())}
    return found


def keep_aligned(classes: SizeClasses) -> None:
    """Keep parts of a sharded dim that end where a shard does: they stay as many shards.

    A dim with fewer devices has fewer shards, of which some end elsewhere.
    """
    shards: dict[Variable, set[Variable]] = {}
    for equation in classes.equations:
        match equation:
            case Product((count, shard), (whole,)) if classes.is_constant(count):
                shards.setdefault(classes.root(whole), set()).add(classes.root(shard))
            case _:
                pass
    for equation in list(classes.equations):
        if not isinstance(equation, Sum):
            continue
        parts = [classes.root(each) for _, each in equation.terms]
        for shard in {shard for part in parts for shard in shards.get(part, ())}:
            for part in parts:
                count, rest = divmod(classes.sizes[part], classes.sizes[shard])
                if count and not rest and not classes.is_constant(part):
                    classes.tie_product((classes.constant(count), shard), (part,))


def lock_windows(classes: SizeClasses) -> None:
    """Keep all sizes of a window, its start and its dim if one of them is kept: constants may depend on them."""
    is_changed = True
    while is_changed:
        is_changed = False
        for window in classes.windows:
            variables = [variable for variable in window if classes.sizes[variable] > 1]
            reason = next((found for each in variables if (found := classes.lock_reason(each))), None)
            for each in variables if reason is not None else ():
                if classes.lock_reason(each) is None:
                    classes.lock(each, reason or "")
                    is_changed = True
