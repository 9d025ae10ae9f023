"""Run ops and programs, on one device and on shards."""
