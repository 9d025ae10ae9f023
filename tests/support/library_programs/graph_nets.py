# The edge to libraries, whose types are unknown where they are not installed:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false
"""Programs of Jraph: graph nets with segment sums over edges."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import jax
import numpy as np

from support.library_programs.plain_jax import normal, sgd
from support.library_programs.program import LibraryProgram

hk: Any = import_module("haiku")
jraph: Any = import_module("jraph")
NODES, EDGES = 16, 32


def _training(make: Callable[[], Any]) -> LibraryProgram:
    """Return a training step of a net on a random graph; the data are features and the ends of the edges."""

    def graph(data: Any) -> Any:
        nodes, edges, ends = data
        counts = np.array([NODES]), np.array([EDGES])
        return jraph.GraphsTuple(
            nodes=nodes, edges=edges, senders=ends[:, 0], receivers=ends[:, 1], globals=np.ones((1, 4), np.float32),
            n_node=counts[0], n_edge=counts[1],
        )  # fmt: skip

    pure = hk.without_apply_rng(hk.transform(lambda data: make()(graph(data))))
    ends = np.random.default_rng(0).integers(0, NODES, (EDGES, 2)).astype(np.int32)
    data = normal(NODES, 8), normal(EDGES, 8, seed=1), ends

    def loss(parameters: Any, data: Any) -> Any:
        return (pure.apply(parameters, data).nodes ** 2).mean()

    return LibraryProgram(sgd(loss), pure.init(jax.random.key(0), data), data)


def _dense(size: int) -> Callable[..., Any]:
    return jraph.concatenated_args(lambda x: jax.nn.relu(hk.Linear(size)(x)))


def graph_network() -> LibraryProgram:
    """Train a graph network that updates edges, nodes and globals."""
    return _training(lambda: jraph.GraphNetwork(_dense(16), _dense(16), _dense(8)))


def graph_convolution() -> LibraryProgram:
    """Train a graph convolution with self edges."""
    return _training(lambda: jraph.GraphConvolution(lambda nodes: hk.Linear(16)(nodes), add_self_edges=True))


def graph_attention() -> LibraryProgram:
    """Train attention over the edges of each node."""

    def query(nodes: Any) -> Any:
        return hk.Linear(16)(nodes)

    def logits(sent: Any, received: Any, _: Any) -> Any:
        return hk.Linear(1)(jax.nn.leaky_relu(sent + received))

    return _training(lambda: jraph.GAT(query, logits))


def interaction_network() -> LibraryProgram:
    """Train a network in which edges act on nodes."""
    return _training(lambda: jraph.InteractionNetwork(_dense(16), _dense(16)))
