"""The sharding rule of each op, one file a family."""
