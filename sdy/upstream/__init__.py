"""Shardy's own partitioner and export pipeline, which only `sdy-opt` runs; no command of `sdy` reaches this package."""
