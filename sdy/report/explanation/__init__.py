"""Where axes come from: the names of values, the steps of propagation, and the causes of collectives."""
