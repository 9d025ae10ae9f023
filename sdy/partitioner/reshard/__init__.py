"""From one sharding to another: the sequence of collectives, by a fixed schedule or by a search for the cheapest."""
