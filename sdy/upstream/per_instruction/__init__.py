"""Partition one instruction at a time, each in its own manual computation."""
