"""Passes that fill in open shardings: thin shells around `sdy.propagation`."""
