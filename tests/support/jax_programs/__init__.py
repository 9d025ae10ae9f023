"""JAX functions and models, and the processes that lower or run them."""
