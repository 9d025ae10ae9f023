"""Passes that check a compiled program, mark its fragments, and turn them into functions."""
