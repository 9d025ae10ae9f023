"""The partitioner: the reshards that a program needs, their collectives, and the form of each op on one shard."""
