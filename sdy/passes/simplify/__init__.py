"""Passes that simplify a module without changing what it computes: canonicalize, CSE, inlining, dead symbols."""
