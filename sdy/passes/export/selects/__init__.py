"""Selects whose choice is known for each device and position."""
