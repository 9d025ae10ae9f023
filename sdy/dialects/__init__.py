"""The IR: xDSL dialects for `sdy`, StableHLO and their company, and the parser and printer of their text.

Imports the grammar, the model and the diagnostics; knows no algorithm.
"""
