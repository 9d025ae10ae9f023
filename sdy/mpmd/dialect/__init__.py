"""The dialect `mpmd`: mesh tensors, attributes, ops with their checks, and their canonicalization."""
