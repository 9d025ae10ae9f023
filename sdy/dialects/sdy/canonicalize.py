"""The canonicalization patterns of the `sdy` dialect, in the groups that a pipeline can choose from.

Source: spec of the dialect, section 7; which group runs where: spec of import and export, section 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.pattern_rewriter import RewritePattern

from sdy.dialects.sdy.canonicalize_collectives import (
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
from sdy.dialects.sdy.canonicalize_manual import DropUnusedOperands, InlineRedundant
from sdy.dialects.sdy.canonicalize_reduce_scatter import FuseReduceAndSlice
from sdy.dialects.sdy.canonicalize_reshard import ReshardOfReshard, ReuseReshard

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

# The labels by which the option `enable-patterns` chooses.
LABELLED_PATTERNS: Mapping[str, tuple[RewritePattern, ...]] = {
    "sdy-reshard": RESHARD_PATTERNS,
    "sdy-collective": COLLECTIVE_PATTERNS,
}
ALL_PATTERNS: tuple[RewritePattern, ...] = (*RESHARD_PATTERNS, *COLLECTIVE_PATTERNS, *UNLABELLED_PATTERNS)
