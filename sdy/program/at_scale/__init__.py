"""Verification of large programs: what a run takes, and runs in smaller sizes."""
