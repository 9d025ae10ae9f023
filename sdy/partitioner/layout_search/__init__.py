"""The search for shardings of inner values with which a program sends fewer bytes. Works on a graph, not on the IR."""
