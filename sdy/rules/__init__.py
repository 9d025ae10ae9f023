"""The sharding rule of each op, one file per family of ops."""
