"""Passes on fragments that several phases use: inlining, merging, splitting, clean-up."""
