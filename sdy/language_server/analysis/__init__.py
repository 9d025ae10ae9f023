"""Answers from the propagated and the partitioned program: hovers, hints, advice."""
