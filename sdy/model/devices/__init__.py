"""Assignment of shards to devices, and the transfers between devices when a sharding changes."""
