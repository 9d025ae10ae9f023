"""Ops that select one of many elements, as an argmax or a top_k does, on the shards of a dim."""
