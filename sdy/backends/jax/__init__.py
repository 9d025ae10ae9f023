"""Runs local programs on JAX's devices. Needs the extra `jax`."""
