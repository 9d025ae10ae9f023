"""Constants: how MLIR stores and spells the elements of `dense<...>` tensors, floats of every format included."""
