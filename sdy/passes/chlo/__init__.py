"""Lower CHLO to StableHLO."""
