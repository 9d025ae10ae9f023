"""The Python that gives a JAX program the shardings of a plan: rules for paths, a mesh, and the call of `jax.jit`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sdy.dialects.sharded_types import static_shape
from sdy.grammar.partition_spec import write_partition_spec
from sdy.model.mesh import Mesh
from sdy.model.path_rules import OPEN, REPLICATED, path_rules, tree_path
from sdy.model.sharding import TensorSharding
from sdy.report.boundary import BoundaryValue, by_tree

Leaves = Mapping[str, str]  # the PartitionSpec of each leaf by its path; empty for a leaf without dims


def leaf_specs(values: Collection[BoundaryValue]) -> Leaves:
    """Return the PartitionSpec of each leaf: `None` for one that the plan does not annotate.

    If it annotates none, all are replicated. Nothing is returned if two paths are equal, as those of `a.b` and `a/b`.
    """
    unknown = OPEN if any(each.sharding for each in values) else REPLICATED
    found: dict[str, str] = {}
    for each in values:
        spec = unknown if each.sharding is None else _short_spec(each.sharding)
        found[tree_path(each.name.removeprefix("%")).replace("/", ".")] = spec if static_shape(each.type) else ""
    return found if len(found) == len(values) else {}


def _short_spec(sharding: TensorSharding) -> str:
    """Return the PartitionSpec without the unsharded dims at its end, so that it fits leaves of any rank."""
    dims = list(sharding.dims)
    while dims and dims[-1].is_closed and not dims[-1].axes:
        dims.pop()
    return write_partition_spec(replace(sharding, dims=tuple(dims)))


def rules_of(leaves: Leaves) -> dict[str, str]:
    """Return the rules for the leaves that have dims."""
    return path_rules({path: spec for path, spec in leaves.items() if spec})


def plan_code(mesh: Mesh, parameters: Sequence[str | None], arguments: Leaves, results: Leaves) -> list[str]:
    """Return the lines that shard the arguments and results of a function `step`. Without `results`, JAX shards these.

    `parameters` are its positional parameters, None for one that it does not use. Results that are sharded as an
    argument, such as new parameters, share its shardings.
    """
    trees = by_tree(arguments)
    sizes, axes = _tuple([str(axis.size) for axis in mesh.axes]), _tuple([f'"{axis.name}"' for axis in mesh.axes])
    passed = ", ".join(f'"{name}": {name}' for name in trees)
    given = [f"    in_shardings={_tuple(['None' if name is None else _placed(name) for name in parameters])},"]
    lines = [
        *rules_lines("rules", arguments),
        f"mesh = jax.make_mesh({sizes}, {axes}, (jax.sharding.AxisType.Auto,) * {len(mesh.axes)})",
        f"placed = sdy.shardings({{{passed}}}, rules, mesh)",
    ]
    if any(spec not in ("", OPEN) for spec in results.values()):
        outputs = _outputs(by_tree(results)["result"], trees)
        specs = list(rules_of(results).values())
        if outputs is None and len(specs) == 1:
            outputs = f"jax.NamedSharding(mesh, {_double_quoted(specs[0])})"
        if outputs is None:
            lines += rules_lines("out_rules", results)
            lines.append(f'result = {{"result": jax.eval_shape(step, {", ".join(trees)})}}')
            outputs = 'sdy.shardings(result, out_rules, mesh)["result"]'
        given.append(f"    out_shardings={outputs},")
    return [*lines, "step = jax.jit(", "    step,", *given, ")"]


def _outputs(leaves: Leaves, trees: Mapping[str, Leaves]) -> str | None:
    """Return the shardings of a tuple of results, each those of an argument or left to JAX; None if others are needed.

    `leaves` are those of all results by their paths: `0.layers.1.up`.
    """
    returned, found = by_tree(leaves), list[str]()
    if list(returned) != [str(number) for number in range(len(returned))]:
        return None
    for tree in returned.values():
        alike = [_placed(name) for name, other in trees.items() if other == tree]
        if any(tree.values()) and not alike:
            return None
        found.append(alike[0] if any(tree.values()) else "None")
    return _tuple(found)


def rules_lines(name: str, leaves: Leaves) -> list[str]:
    """Return the lines of Python that define rules for leaves."""
    rules = (f"    {pattern!r}: {spec}," for pattern, spec in rules_of(leaves).items())
    return [f"{name} = {{", *map(_double_quoted, rules), "}"]


def _double_quoted(code: str) -> str:
    return code.replace("'", '"') if '"' not in code else code


def _placed(name: str) -> str:
    return f'placed["{name}"]'


def _tuple(entries: Sequence[str]) -> str:
    return f"({', '.join(entries)}{',' * (len(entries) == 1)})"
