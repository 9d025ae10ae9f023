"""Exact minimization of a sum of cost tables over discrete variables."""
