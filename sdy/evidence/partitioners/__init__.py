"""Comparison of our partitioner with others, XLA and jaxlib's Shardy, on one program."""
