"""Seeded programs of one StableHLO op each, on random constants."""
