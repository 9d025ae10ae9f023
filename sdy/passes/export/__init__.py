"""Passes that turn a propagated program into per-device code."""
