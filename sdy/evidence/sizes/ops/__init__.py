"""Ties of ops, in one file a family: which of their dims and attributes change together."""
