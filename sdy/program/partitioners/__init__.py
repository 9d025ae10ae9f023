"""Compares what our partitioner and others make of a program."""
