"""Random reshards, and independent ways to find the least that they cost."""
