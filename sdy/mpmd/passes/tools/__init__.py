"""Tools for passes on programs of several meshes: their frame, uses in order, rewriting, fragments and calls."""
