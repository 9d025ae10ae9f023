"""Partition one instruction at a time, each in a function of its own."""
