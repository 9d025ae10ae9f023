"""Schedules as rules about fragments: which of two runs first, and which are merged. Knows no ops."""
