"""Sharding propagation on a graph of numbered values. Knows no IR; imports `sdy.model` and `sdy.diagnostics`."""
