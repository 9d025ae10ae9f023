"""Whether an op can run on shards alone, along which dims, and what its devices must exchange: facts, no new ops."""
