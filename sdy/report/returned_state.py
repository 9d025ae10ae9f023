"""The results of a function that are the next values of its arguments, such as the parameters of a training step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from sdy.model.path_rules import tree_path
from sdy.report.boundary import BoundaryValue

Leaves = dict[str, int]  # the number of each leaf by its path


def returned_state(values: Sequence[BoundaryValue], argument_count: int) -> dict[int, int]:
    """Return the number of each result that is the next value of an argument, with the number of that argument.

    `values` are the arguments, then the results. A tree of results is the next value of the argument that has the same
    paths and types, as in `params, state = step(params, state, x)`; large trees are compared before those in them.
    Arguments of one leaf are not compared: too many results have the same type.
    """
    arguments, results = (
        {tree_path(value.jax_name): number for number, value in enumerate(part) if value.jax_name}
        for part in (values[:argument_count], values[argument_count:])
    )
    found: dict[int, int] = {}
    trees = [tree for tree in sorted(_by_tree(arguments), key=len, reverse=True) if len(tree) > 1]
    prefixes = sorted(dict.fromkeys(_prefixes(results)), key=lambda prefix: prefix.count("."))
    for prefix, tree in product(prefixes, trees):
        pairs = [(results[path], number) for rest, number in tree.items() if (path := f"{prefix}.{rest}") in results]
        is_new = not any(result in found or number in found.values() for result, number in pairs)
        is_alike = all(values[argument_count + result].type == values[number].type for result, number in pairs)
        if len(pairs) == len(tree) and is_new and is_alike:
            found |= dict(pairs)
    return found


def _prefixes(paths: Leaves) -> Iterator[str]:
    """Yield the first keys of paths, in order."""
    for path in paths:
        keys = path.split(".")
        yield from (".".join(keys[:count]) for count in range(1, len(keys)))


def _by_tree(paths: Leaves) -> list[Leaves]:
    """Return the leaves of each tree, by their paths in it."""
    found: dict[str, Leaves] = {}
    for path, number in paths.items():
        name, _, rest = path.partition(".")
        found.setdefault(name, {})[rest] = number
    return list(found.values())
