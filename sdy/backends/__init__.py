"""From our local programs to systems that run them."""
