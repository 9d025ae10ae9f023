"""Semantic checks of StableHLO ops, one family of ops per file. Each check raises SdyError at the op."""
