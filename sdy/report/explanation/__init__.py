"""The origins of axes: the names of values, the steps of propagation, and the causes of collectives."""
