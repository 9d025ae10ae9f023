"""Smaller sizes for a program and its local program, by the same map, so that both can be run; knows no partitioner."""
