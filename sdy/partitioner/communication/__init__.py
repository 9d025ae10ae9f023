"""Choosing how ops and values are cut so that devices send each other the fewest bytes. Pure: no IR."""
