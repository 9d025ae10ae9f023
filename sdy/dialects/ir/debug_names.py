"""Names of the attributes in which propagation records its steps for debugging. Source: docs/spec/01, 8.3."""

from __future__ import annotations

EDGES = "sdy.propagation_edges"
BLOCK_ARG_EDGES = "sdy.block_arg_propagation_edges"
RESULT_EDGES = "sdy.result_propagation_edges"
ORIGINS = "sdy.sharding_origins"
BLOCK_ARG_ORIGINS = "sdy.block_arg_sharding_origins"
RESULT_ORIGINS = "sdy.result_sharding_origins"
ORIGIN_NAME = "sdy.sharding_origin_name"

RECORDS = frozenset((EDGES, BLOCK_ARG_EDGES, RESULT_EDGES, ORIGINS, BLOCK_ARG_ORIGINS, RESULT_ORIGINS))
