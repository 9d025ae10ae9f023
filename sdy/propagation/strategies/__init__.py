"""Propagation strategies, which decide how a step extends factor shardings: basic and aggressive."""
