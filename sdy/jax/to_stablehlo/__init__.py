"""Lowers JAX functions to StableHLO with shardings. Requires the extra `jax`."""
