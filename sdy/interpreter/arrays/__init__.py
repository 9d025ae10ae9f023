"""MLIR element types as NumPy dtypes; constants, comparison and printing of arrays."""
