"""A structural proof that a local program computes the same values as the global one.

Imports only `sdy.dialects`, `sdy.model` and `sdy.diagnostics`: nothing here is shared with what partitions programs.
"""
