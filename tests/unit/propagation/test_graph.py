from __future__ import annotations

import gc

from support.model.graph_builder import GraphBuilder

from sdy.propagation.engine import Schedule
from sdy.propagation.graph import Graph, Node, Value


def propagated() -> Graph:
    b = GraphBuilder('<["x"=2]>')
    p = b.argument((8,), '[{"x"}]')
    q, r = b.op("([i])->([i], [i]) {i=8}", [p], [(8,), (8,)])
    b.returns((b.elementwise(q, r, shape=(8,)), (8,), None))
    b.propagate(Schedule())
    return b.graph


def alive() -> int:
    return sum(type(each) in (Node, Value) for each in gc.get_objects())


def test_a_dissolved_graph_is_freed_without_garbage_collection() -> None:
    gc.freeze()  # so that only new objects are looked at
    gc.disable()
    before = alive()
    try:
        graph = propagated()
        assert alive() > before
        graph.dissolve()
        assert alive() == before
    finally:
        gc.enable()
        gc.unfreeze()
