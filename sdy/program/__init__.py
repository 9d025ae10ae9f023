"""The `Program` people hold: load, propagate, partition, run, verify."""
