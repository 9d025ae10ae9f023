"""Runs of a program on one device and on all, in full or in reduced sizes, and the comparison of their results."""
