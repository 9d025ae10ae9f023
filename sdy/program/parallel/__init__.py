"""Runs functions in parallel processes."""
