"""The CHLO dialect: ops that are decomposed into StableHLO."""
