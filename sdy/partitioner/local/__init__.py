"""The form each op takes on one shard, one file a family."""
