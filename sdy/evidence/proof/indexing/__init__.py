"""Lemmas of ops that index a value: slices at starts, gathers and scatters."""
