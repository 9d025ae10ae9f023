"""Generates the reference pages of passes and ops from the code."""
