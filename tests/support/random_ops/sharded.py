"""Draw programs of one op whose arguments and results are sharded at random, along axes that divide the dims."""

from __future__ import annotations

import re
from math import prod

import numpy as np

from support.random_ops.draft import Draft
from support.random_ops.families import random_program

MESHES: dict[str, dict[str, int]] = {
    '<["x"=2, "y"=3]>': {"x": 2, "y": 3},
    '<["x"=2, "y"=2]>': {"x": 2, "y": 2},
    '<["x"=4, "y"=2], device_ids=[3, 1, 2, 0, 7, 6, 5, 4]>': {"x": 4, "y": 2},
}
_TYPE = re.compile(r"tensor<((?:\d+x)*)")


def sharded_program(family: str, seed: int) -> tuple[Draft, str]:
    """Return a program of one op of the family, with its constants as arguments, and the module with shardings."""
    draft = random_program(family, seed)
    random = np.random.default_rng([seed, 17])
    mesh, axes = list(MESHES.items())[seed % len(MESHES)]

    def typed(kind: str, probability: float) -> str:
        if random.random() > probability:
            return kind
        return f"{kind} {{sdy.sharding = #sdy.sharding{_sharding(kind, axes, random)}}}"

    arguments = ", ".join(f"{name}: {typed(kind, 0.8)}" for name, kind in draft.types.items())
    results = ", ".join(typed(kind, 0.6) for _, kind in draft.results)
    names, kinds = (", ".join(each) for each in zip(*draft.results, strict=True))
    body = "\n  ".join([*draft.lines, f"return {names} : {kinds}"])
    main = f"sdy.mesh @m = {mesh}\nfunc.func @main({arguments}) -> ({results}) {{\n  {body}\n}}\n"
    return draft, "".join([main, *draft.functions])


def _sharding(kind: str, axes: dict[str, int], random: np.random.Generator) -> str:
    found = _TYPE.match(kind)
    assert found is not None
    sizes = [int(size) for size in found[1].split("x")[:-1]]
    dims: list[list[str]] = [[] for _ in sizes]
    for axis in random.permutation(list(axes)):
        fitting = [
            dim
            for dim, size in enumerate(sizes)
            if size and size % (axes[axis] * prod(axes[other] for other in dims[dim])) == 0
        ]
        if fitting and random.random() < 0.75:
            dims[int(random.choice(fitting))].append(str(axis))
    texts = ("{" + ", ".join([*(f'"{axis}"' for axis in each), *_openness(random)]) + "}" for each in dims)
    return f"<@m, [{', '.join(texts)}]>"


def _openness(random: np.random.Generator) -> list[str]:
    return ["?"] if random.random() < 0.3 else []
