"""Analyses of ops on shards: along which dims an op can run on shards alone, and what its devices must exchange."""
