"""Texts of modules: parts of collectives, and mutations."""
