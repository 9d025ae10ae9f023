"""From shardings to devices: which device holds which shard, and which device a shard moves to."""
