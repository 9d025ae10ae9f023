"""Hypothesis strategies for meshes, axis refs, shardings and rules."""

from __future__ import annotations

from itertools import pairwise
from math import prod

from hypothesis import strategies as st

from sdy.model.axis import AxisList, AxisRef, SubAxis, sub_axis_ref
from sdy.model.collective import AllToAllParam
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.propagation_edges import AxisFlow, EdgeNode, EdgeNodeKind, PropagationStep
from sdy.model.rule import FactorIndex, OpShardingRule
from sdy.model.sharding import DimSharding, ReductionKind, TensorSharding

INT64 = st.integers(-(2**63), 2**63 - 1)

# Values that can be written as text, whether or not they are valid on a mesh.

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
sub_axes = st.builds(SubAxis, INT64, INT64)
axis_refs = st.builds(AxisRef, names, st.none() | sub_axes)
axis_lists = st.lists(axis_refs, max_size=4).map(tuple)
dim_shardings = st.builds(DimSharding, axis_lists, st.booleans(), st.none() | st.integers(0, 2**63 - 1))


@st.composite
def meshes(draw: st.DrawFn) -> Mesh:
    """Draw a valid mesh of up to 24 devices, in any order."""
    sizes = draw(st.lists(st.integers(1, 4), max_size=3).filter(lambda sizes: prod(sizes) <= 24))
    if not sizes:
        return Mesh((), draw(st.just(()) | st.integers(0, 99).map(lambda device: (device,))))
    axis_names = draw(st.lists(names, min_size=len(sizes), max_size=len(sizes), unique=True))
    ids = draw(st.just(()) | st.permutations(range(prod(sizes))).map(tuple))
    return Mesh(tuple(MeshAxis(name, size) for name, size in zip(axis_names, sizes, strict=True)), ids)


@st.composite
def tensor_shardings(draw: st.DrawFn) -> TensorSharding:
    """Draw any sharding that can be written as text: a reduction kind needs unreduced axes."""
    unreduced = draw(axis_lists)
    return TensorSharding(
        draw(names.filter(bool) | meshes()),
        draw(st.lists(dim_shardings, max_size=3).map(tuple)),
        draw(axis_lists),
        unreduced,
        draw(st.sampled_from(ReductionKind)) if unreduced else ReductionKind.SUM,
    )


factors = st.integers(0, 40).map(FactorIndex)
factor_sets = st.lists(factors, max_size=3).map(tuple)
tensor_mappings = st.lists(st.lists(factors, min_size=1, max_size=3).map(tuple), max_size=3).map(tuple)
mapping_lists = st.lists(tensor_mappings, min_size=1, max_size=3).map(tuple)
rules = st.builds(
    OpShardingRule,
    st.lists(INT64, max_size=20).map(tuple),
    mapping_lists,
    mapping_lists,
    factor_sets,
    factor_sets,
    factor_sets,
    factor_sets,
    st.booleans(),
)

all_to_all_params = st.builds(AllToAllParam, axis_lists.filter(bool), INT64, INT64)

edge_nodes = st.builds(EdgeNode, st.sampled_from(EdgeNodeKind), INT64)


@st.composite
def axis_flows(draw: st.DrawFn) -> AxisFlow:
    """Draw a flow from one node to distinct others."""
    source, *targets = draw(st.lists(edge_nodes, min_size=2, max_size=4, unique=True))
    return AxisFlow(draw(axis_refs), source, tuple(targets))


propagation_steps = st.builds(
    PropagationStep, st.integers(0, 2**63 - 1), st.lists(axis_flows(), min_size=1, max_size=2).map(tuple)
)
propagation_edges = st.lists(propagation_steps, min_size=1, max_size=3, unique_by=lambda step: step.index).map(tuple)

# Values that are valid on MESH.

MESH = Mesh((MeshAxis("v", 2), MeshAxis("u", 24), MeshAxis("w", 4)))
_SPLITS = {"u": [(1, 2, 4, 12, 24), (1, 3, 6, 24), (1, 2, 6, 24), (1, 24)], "v": [(1, 2)], "w": [(1, 2, 4), (1, 4)]}


@st.composite
def covering_sub_axes(draw: st.DrawFn) -> AxisList:
    """Draw sub-axes that cover MESH, in mesh order."""
    refs: list[AxisRef] = []
    for axis in MESH.axes:
        bounds = draw(st.sampled_from(_SPLITS[axis.name]))
        for start, end in pairwise(bounds):
            refs.append(AxisRef(axis.name) if (start, end) == (1, axis.size) else sub_axis_ref(axis.name, start, end))
    return tuple(refs)


@st.composite
def disjoint_lists(draw: st.DrawFn) -> AxisList:
    """Draw some disjoint sub-axes of MESH, in any order."""
    return tuple(draw(st.permutations(draw(covering_sub_axes()))))[: draw(st.integers(0, 5))]


def refs_of_u() -> st.SearchStrategy[AxisRef]:
    """Draw any valid ref to the axis "u", including the full axis."""
    divisors = [1, 2, 3, 4, 6, 8, 12, 24]
    sub_axes_of_u = [
        sub_axis_ref("u", start, end)
        for start in divisors
        for end in divisors
        if end > start and end % start == 0 and end // start < 24
    ]
    return st.sampled_from([AxisRef("u"), *sub_axes_of_u])
