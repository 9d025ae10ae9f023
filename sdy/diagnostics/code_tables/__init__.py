"""The tables of diagnostic codes, by subject."""
