"""The IR: the xDSL dialects `sdy`, StableHLO, CHLO and a few small ones, with their parser, printer and verification.

Imports the grammar, the model and the diagnostics, and none of the algorithms.
"""
