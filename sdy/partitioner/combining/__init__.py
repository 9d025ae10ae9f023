"""Choose collectives to combine into one, and the order in which the ops then run."""
