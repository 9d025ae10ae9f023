"""Passes that propagate shardings, built on `sdy.propagation`."""
