"""Lemmas of values that are put together from segments of several windows, other ones on each device."""
