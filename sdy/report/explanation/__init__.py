"""Where each axis of each value comes from: the names of values, the steps of propagation, the causes of collectives."""
