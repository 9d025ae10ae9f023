"""The text of an open document: positions, names and their scopes, completion. Works for texts that do not parse."""
