"""From any sharding to any other one on the same devices, by the collectives that move the fewest bytes."""
