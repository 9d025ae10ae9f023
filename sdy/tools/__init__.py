"""The command-line tools `sdy`, `sdy-opt` and `sdy-run`: arguments and printing, no logic.

This package may import every other package; no package imports it.
"""
