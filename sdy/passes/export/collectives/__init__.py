"""Fewer collectives for the same communication: combine and fuse them."""
