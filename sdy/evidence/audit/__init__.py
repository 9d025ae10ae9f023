"""Audits of sharding rules: whether running an op on shards, as its rule says, gives what the whole op gives."""
