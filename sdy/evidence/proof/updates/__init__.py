"""Lemmas of updates: of sharded dims in a loop, and from starts that are known to be 0."""
