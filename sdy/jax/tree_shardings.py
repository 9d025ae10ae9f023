"""The shardings of the leaves of a pytree, such as the parameters of a model, by rules for their paths."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from importlib import import_module
from itertools import accumulate
from typing import Any

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.user_code import require_type
from sdy.diagnostics.wording import first_names
from sdy.jax.optional_jax import require_jax


def shardings(tree: object, rules: Mapping[str, Any], mesh: Any = None) -> Any:
    """Return a pytree of the same structure with the sharding of each leaf, by the first rule that matches its path.

    `rules` map patterns to `PartitionSpec`s. A path has the keys `layers.0.mlp.kernel`; a pattern is a path or its
    first keys, and may have wildcards: `*.kernel`. Leaves without dims need no rule. The shardings are `NamedSharding`s
    on `mesh`, a `Mesh` or an `AbstractMesh`; `PartitionSpec`s without one. The leaves may be arrays or their shapes.
    Raises: SdyError SDY-T205 or SDY-T214 without JAX; SDY-T256 for each leaf that no rule matches, SDY-T257 for each
    rule that gives no leaf its sharding, SDY-T258 if a spec has more dims than its leaf.
    """
    require_type(rules, Mapping, "sdy.shardings: rules", 'write {"layers.*.kernel": PartitionSpec(None, "model")}')
    require_jax()
    jax: Any = import_module("jax")
    leaves, structure = jax.tree.flatten_with_path(tree)
    paths = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in leaves]
    chosen = [next((pattern for pattern in rules if _matches(pattern, path)), None) for path in paths]
    ranks = [len(getattr(leaf, "shape", ())) for _, leaf in leaves]
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
        if rank and len(spec) > rank
    ]
    if problems:
        raise SdyError(*problems)
    # Without dims, nothing is sharded, whatever a rule for the leaves around says.
    given = [spec if rank else jax.P() for spec, rank in zip(specs, ranks, strict=True)]
    return structure.unflatten(given if mesh is None else [jax.NamedSharding(mesh, spec) for spec in given])


def _matches(pattern: str, path: str) -> bool:
    """Return whether a pattern matches a path, or its first keys."""
    return any(fnmatchcase(first, pattern.replace("/", ".")) for first in accumulate(path.split("."), "{}.{}".format))
