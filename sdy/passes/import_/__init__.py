"""Passes that bring a user's program into the shape propagation needs."""
