"""Values that each device computes by itself, in manual computations."""
