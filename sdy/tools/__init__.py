"""The command lines `sdy`, `sdy-opt` and `sdy-run`: arguments and printing, no logic.

This package imports everything; nothing imports it.
"""
