"""Search for shardings of inner values with which a program sends fewer bytes. Operates on a graph, not on the IR."""
