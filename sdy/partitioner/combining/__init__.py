"""Which collectives of a program may run as one, and in which order the ops then run."""
