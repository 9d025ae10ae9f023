"""Dims whose size the sharding does not divide: pad them, or drop the axes."""
