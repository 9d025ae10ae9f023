from __future__ import annotations

import numpy as np

from sdy.dialects.module_text import parse_module
from sdy.interpreter.devices.grid import Grid
from sdy.interpreter.executor import Executor
from sdy.interpreter.host import Host
from sdy.interpreter.kernel import KernelContext
from sdy.interpreter.ops.control import Split

GRID = Grid((2, 3, 2), 1, 12)
CONTEXT = KernelContext(GRID.sizes, GRID, Executor(parse_module("")), Host())


def test_split_affects_only_dims_along_which_the_decision_varies() -> None:
    decisions = np.array([0, 7, 0]).reshape(1, 3, 1)
    split = Split(CONTEXT, decisions)
    context = split.context_of(0)
    assert context.batch == (2, 2, 2)
    assert context.grid is not None
    assert context.grid.ids.tolist() == [0, 1, 6, 7, 4, 5, 10, 11]
    (along_first,) = split.taken((np.arange(2).reshape(2, 1, 1),), 0)
    assert along_first.shape == (1, 2, 1)


def test_merging_inverts_splitting() -> None:
    random = np.random.default_rng(0)
    decisions = random.integers(0, 3, (2, 3, 1))
    arrays = (np.arange(12).reshape(2, 3, 2), np.arange(3).reshape(1, 3, 1) * 10, np.array([[[5]]]))
    split = Split(CONTEXT, decisions)
    merged = split.merged({key: split.taken(arrays, key) for key in split.positions})
    for before, after in zip(arrays, merged, strict=True):
        assert (np.broadcast_to(before, GRID.sizes) == after).all()
    assert merged[1].shape == (2, 3, 1)


def test_elements_split_without_a_grid() -> None:
    inner = CONTEXT.with_elements((4,))
    split = Split(inner, np.arange(4).reshape(1, 1, 1, 4) % 2)
    context = split.context_of(1)
    assert context.grid is None
    assert context.batch == (2, 2, 3, 2)
