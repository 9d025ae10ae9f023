"""Builders of ops: arithmetic, constants and collectives of a per-device program."""
