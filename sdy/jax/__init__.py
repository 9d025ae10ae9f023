"""Programs from JAX functions, and local programs as functions on JAX devices; may import `jax`."""
