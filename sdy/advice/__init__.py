"""Judges a partitioned program: contracts that it must keep, and its differences from another program."""
