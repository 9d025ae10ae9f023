"""Halo exchange: ops that need elements of neighbouring shards. May import `partitioner.local`."""
