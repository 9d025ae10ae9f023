"""The end of propagation: close shardings, and remove what only propagation needs."""
