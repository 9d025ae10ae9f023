"""Shardy in pure Python."""
