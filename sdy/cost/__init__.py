"""Bytes, seconds and memory of a per-device program."""
