"""Runs in a finite field: floats are replaced by numbers in which all that a partitioner may do is exact."""
