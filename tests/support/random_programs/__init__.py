"""Draw programs of many ops, with all kinds of sharding annotations, from a seed."""
