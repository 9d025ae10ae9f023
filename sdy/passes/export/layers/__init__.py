"""Fold equal layers of a network into one function before partitioning, and unfold them after it."""
