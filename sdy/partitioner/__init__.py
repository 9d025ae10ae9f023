"""Which reshards a program needs, as which collectives, and each op on one shard."""
