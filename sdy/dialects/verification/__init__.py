"""Verification of a module: definitions before uses, functions and calls, and every sharding of the `sdy` dialect.

Imports every other room of `sdy.dialects`; only `passes.run` and the tools call it.
"""
