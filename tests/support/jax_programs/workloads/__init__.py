"""Programs as users of JAX write them, small, on a mesh of four by two devices."""
