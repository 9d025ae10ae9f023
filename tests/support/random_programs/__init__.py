"""Seeded programs of many ops with annotations of every kind."""
