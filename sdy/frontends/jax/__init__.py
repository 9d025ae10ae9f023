"""From a jitted JAX function to a module with shardings. Needs the extra `jax`."""
