"""Pad uneven dims, so that their axes divide them. May import `partitioner.local`."""
