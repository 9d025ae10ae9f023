"""Diagnostics: codes, messages, source spans and rendering. Imports only the standard library and `sdy.documents`."""
