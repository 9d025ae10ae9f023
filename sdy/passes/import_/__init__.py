"""Passes that prepare a user's program for propagation."""
