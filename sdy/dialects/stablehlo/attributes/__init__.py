"""Attributes, enums and types of StableHLO."""
