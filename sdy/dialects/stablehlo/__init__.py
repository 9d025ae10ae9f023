"""The StableHLO dialect, one file a family of ops."""
