"""Named computations become functions again, and calls get the reshards that they need."""
