"""The user-facing `Program`: load, propagate, partition, run, verify, report."""
