"""The canonicalization patterns of the `sdy` dialect, in the groups that a pipeline can choose.

Source: docs/spec/01, 7; groups: docs/spec/04, 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.pattern_rewriter import RewritePattern

from sdy.passes.simplify.collective_patterns import (
    AllToAllOfAllToAll,
    DropEmptyAllGather,
    DropEmptyAllReduce,
    DropEmptyAllSlice,
    DropEmptyReduceScatter,
    DropIdentityPermute,
    DropUnusedAllToAll,
    ReduceOfReplicated,
    ReduceOfSharded,
    SliceOfGather,
)
from sdy.passes.simplify.manual_patterns import DropUnusedOperands, InlineRedundant
from sdy.passes.simplify.reduce_scatter_patterns import FuseReduceAndSlice
from sdy.passes.simplify.reshard_patterns import ReshardOfReshard, ReuseReshard

RESHARD_PATTERNS: tuple[RewritePattern, ...] = (ReshardOfReshard(),)
COLLECTIVE_PATTERNS: tuple[RewritePattern, ...] = (
    DropEmptyAllGather(),
    DropEmptyAllSlice(),
    DropEmptyReduceScatter(),
    DropEmptyAllReduce(),
    DropIdentityPermute(),
    SliceOfGather(),
    ReduceOfReplicated(),
    ReduceOfSharded(),
    DropUnusedAllToAll(),
    AllToAllOfAllToAll(),
    FuseReduceAndSlice(),
)
UNLABELLED_PATTERNS: tuple[RewritePattern, ...] = (DropUnusedOperands(), InlineRedundant(), ReuseReshard())

# The labels that the option `enable-patterns` accepts.
LABELLED_PATTERNS: Mapping[str, tuple[RewritePattern, ...]] = {
    "sdy-reshard": RESHARD_PATTERNS,
    "sdy-collective": COLLECTIVE_PATTERNS,
}
ALL_PATTERNS: tuple[RewritePattern, ...] = (*RESHARD_PATTERNS, *COLLECTIVE_PATTERNS, *UNLABELLED_PATTERNS)
