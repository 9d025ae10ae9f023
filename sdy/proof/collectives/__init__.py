"""Lemmas of collectives."""
