"""The shardings of the leaves of a pytree, such as the parameters of a model, by rules for their paths."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.user_code import require_type
from sdy.diagnostics.wording import first_names
from sdy.grammar.errors import NotationError, SourceText
from sdy.grammar.partition_spec import read_partition_spec
from sdy.jax.optional_jax import require_jax
from sdy.model.mesh import Mesh
from sdy.model.path_rules import OPEN, matches_path, tree_path


def shardings(tree: object, rules: Mapping[str, Any], mesh: Any = None) -> Any:
    """Return a pytree of the same structure with the sharding of each leaf, by the first rule that matches its path.

    `rules` map patterns to `PartitionSpec`s or their texts; with None, the compiler chooses the sharding. A path has
    the keys `layers.0.mlp.kernel`; a pattern is a path or its first keys, and may have wildcards: `*.kernel`. Leaves
    without dims need no rule. The shardings are `NamedSharding`s on `mesh`, a `Mesh` or an `AbstractMesh`;
    `PartitionSpec`s without one. The leaves may be arrays or their shapes.
    Raises: SdyError SDY-T205 or SDY-T214 without JAX; SDY-T256 for each leaf that no rule matches, SDY-T257 for each
    rule that gives no leaf its sharding, SDY-T258 if a spec has more dims than its leaf, SDY-P111 if the text of a spec
    is malformed.
    """
    require_type(rules, Mapping, "sdy.shardings: rules", 'write {"layers.*.kernel": PartitionSpec(None, "model")}')
    require_jax()
    jax: Any = import_module("jax")
    rules = {pattern: _partition_spec(spec) for pattern, spec in rules.items()}
    leaves, structure = jax.tree.flatten_with_path(tree)
    paths = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in leaves]
    chosen = [_first_match(rules, path) for path in paths]
    ranks = [_rank(leaf) for _, leaf in leaves]
    known = f"paths: {first_names(paths)}" if paths else "the tree has no leaves"
    problems = [
        Diagnostic("SDY-T256", f"no rule matches {path}, which has {rank} dims", hint='a last rule "*" matches all')
        for path, rule, rank in zip(paths, chosen, ranks, strict=True)
        if rule is None and rank
    ]
    unused = [Diagnostic("SDY-T257", f"the rule {rule!r} gives no leaf its sharding", hint=known) for rule in rules]
    problems += [each for each, rule in zip(unused, rules, strict=True) if rule not in chosen]
    specs = [jax.P() if rule is None else rules[rule] for rule in chosen]
    problems += [
        Diagnostic("SDY-T258", f"{path} has {rank} dims, and the rule {rule!r} shards {len(spec)}: {spec}")
        for path, rule, rank, spec in zip(paths, chosen, ranks, specs, strict=True)
        if rank and spec is not None and len(spec) > rank
    ]
    if problems:
        raise SdyError(*problems)
    # Without dims, nothing is sharded, whatever a rule for the leaves around says.
    given = [spec if rank else jax.P() for spec, rank in zip(specs, ranks, strict=True)]
    return structure.unflatten(given if mesh is None else _on_mesh(given, mesh))


def parameter_names(arguments: object, used: Sequence[str]) -> Sequence[str | None]:
    """Return the names of positional parameters in order, with None for those that are not `used`.

    `arguments` has the names of the leaves as leaves, such as `params['up']`, in the structure of a call. Without a
    structure, or if parameters are not known by name, such as those of `*args`, all are taken to be used.
    """
    if not isinstance(arguments, tuple):
        return used
    jax: Any = import_module("jax")
    parameters = cast("tuple[object, ...]", arguments)
    names = [[tree_path(leaf).partition(".")[0] for leaf in jax.tree.leaves(each)] for each in parameters]
    found = [next(iter(each), None) for each in names]
    is_known = [name for name in found if name is not None] == list(used) and all(len(set(each)) < 2 for each in names)
    return found if is_known else used


def argument_shardings(
    tree: object, parameters: Sequence[str | None], planned: Collection[str], rules: Mapping[str, str], mesh: Any
) -> Any:
    """Return the `NamedSharding`s of a tree of arguments, whose paths are `planned`, by rules for these.

    `parameters` are the positional parameters, with None for one that JAX drops, whose leaves follow the last rule.
    `tree` is the tuple of the arguments, a dict with some of them by name, or one of them. `mesh` is one of JAX, or one
    of sdy for an abstract one.
    Raises: SdyError SDY-T205 or SDY-T214 without JAX; SDY-T259 if the tree is none of these, or may be several.
    """
    require_jax()
    jax: Any = import_module("jax")
    leaves, structure = jax.tree.flatten_with_path(tree)
    own = [jax.tree_util.keystr(path, simple=True, separator=".").replace("/", ".") for path, _ in leaves]
    names = list(dict.fromkeys(path.partition(".")[0] for path in planned))
    by_number = {str(number): name for number, name in enumerate(parameters) if name is not None}
    readings = [own]
    if isinstance(tree, tuple) and len(cast("tuple[object, ...]", tree)) == len(parameters):
        readings.append([_with_first_key(path, by_number) for path in own])
    readings += [[f"{name}.{path}".rstrip(".") for path in own] for name in names]
    known = [sum(path in planned for path in reading) for reading in readings]
    best = [reading for reading, count in zip(readings, known, strict=True) if count == max(known) > 0]
    found = {tuple(rules[_first_match(rules, path) or "*"] for path in reading) for reading in best if rules}
    if len(found) != 1:
        problem = "may be several arguments" if found else "has the structure of no argument"
        hint = f"pass a dict of arguments by name: {first_names(names)}"
        raise SdyError(Diagnostic("SDY-T259", f"the tree {problem} of the program", hint=hint))
    if isinstance(mesh, Mesh):
        sizes, axes = (tuple(axis.size for axis in mesh.axes), tuple(axis.name for axis in mesh.axes))
        mesh = jax.sharding.AbstractMesh(sizes, axes, axis_types=(jax.sharding.AxisType.Auto,) * len(axes))
    ranks = [_rank(leaf) for _, leaf in leaves]
    given = [_partition_spec(spec) if rank else jax.P() for spec, rank in zip(found.pop(), ranks, strict=True)]
    return structure.unflatten(_on_mesh(given, mesh))


def logical_axis_rules(names: object, placed: object) -> list[tuple[str, str | tuple[str, ...] | None]]:
    """Return the mesh axes of each logical axis, as flax and MaxText take them: `[("mlp", "tensor"), ("embed", None)]`.

    `names` has a `PartitionSpec` of logical axes for each leaf, and `placed` its `NamedSharding`. As in flax, a mesh
    axis shards the first dim of a leaf that it is for.
    Raises: SdyError SDY-T266 if leaves shard a logical axis along different mesh axes.
    """
    jax: Any = import_module("jax")
    named, shardings = jax.tree.flatten_with_path(names)[0], jax.tree.leaves(placed)
    leaves = [(path, logical, own.spec) for (path, logical), own in zip(named, shardings, strict=True)]
    dims = [
        (jax.tree_util.keystr(path, simple=True, separator="."), name, axes, spec[:dim])
        for path, logical, spec in leaves
        for dim, (name, axes) in enumerate(zip(logical, (*spec, *[None] * len(logical)), strict=False))
        if name is not None
    ]
    rules: dict[str, tuple[str, Any]] = {}
    for path, name, axes, _ in sorted(dims, key=lambda each: each[2] is None):  # first those that are sharded
        rules.setdefault(name, (path, axes))
    for path, name, axes, before in dims:
        other, chosen = rules[name]
        is_taken = axes is None and not _axis_names(before).isdisjoint(_axis_names((chosen,)))
        if axes != chosen and not is_taken:
            otherwise = "not" if axes is None else f"along {axes}"
            message = f"the logical axis {name} is sharded along {chosen} in {other}, and {otherwise} in {path}"
            hint = "give the two different names, or use the rules for paths"
            raise SdyError(Diagnostic("SDY-T266", message, hint=hint))
    return [(name, axes) for name, (_, axes) in rules.items()]


def _axis_names(entries: Sequence[Any]) -> set[str]:
    """Return the names of mesh axes in entries of a `PartitionSpec`."""
    return {name for entry in entries if entry is not None for name in ((entry,) if isinstance(entry, str) else entry)}


def _rank(leaf: Any) -> int:
    """Return the number of dims of a leaf: an array, a shape, or a `PartitionSpec` that names each dim."""
    jax: Any = import_module("jax")
    return len(leaf) if isinstance(leaf, jax.P) else len(getattr(leaf, "shape", ()))


def _first_match(rules: Mapping[str, Any], path: str) -> str | None:
    return next((pattern for pattern in rules if matches_path(pattern, path)), None)


def _with_first_key(path: str, renamed: Mapping[str, str]) -> str:
    first, *rest = path.split(".", 1)
    return ".".join((renamed.get(first, first), *rest))


def _partition_spec(spec: Any) -> Any:
    """Return a `PartitionSpec` of JAX, given as such or as text; None for the text `None`."""
    if not isinstance(spec, str) or spec == OPEN:
        return None if spec == OPEN else spec
    from sdy.jax.to_devices.run_on_devices import partition_spec  # imports JAX

    try:
        sharding = read_partition_spec(spec, Mesh(()))
    except NotationError as error:
        raise SourceText("TEXT", spec).error(error) from None
    return partition_spec(sharding, tuple(sharding.axis_refs()))


def _on_mesh(specs: Sequence[Any], mesh: Any) -> list[Any]:
    sharding: Any = import_module("jax").NamedSharding
    return [None if spec is None else sharding(mesh, spec) for spec in specs]
