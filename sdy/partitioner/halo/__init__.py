"""Halo exchange: rewrites of ops that require elements of neighboring shards. May import `partitioner.local`."""
