"""Runs local programs on JAX devices. Requires the extra `jax`."""
