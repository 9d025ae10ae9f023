"""Findings of `sdy lint`: avoidable communication, computation and memory, each with a fix that was tried."""
