"""Constants: storage and text of the elements of `dense<...>` tensors, including floats of every format."""
