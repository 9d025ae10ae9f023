"""Shardy and MLIR as jaxlib ships them, to compare with."""
