"""Lowering CHLO to StableHLO."""
