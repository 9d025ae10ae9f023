"""What our partitioner and others, XLA and jaxlib's Shardy, make of one program, side by side."""
