"""Passes that turn a program with named computations into fragments, and decide where everything else runs."""
