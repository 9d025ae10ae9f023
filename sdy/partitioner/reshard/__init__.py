"""Reshards as sequences of collectives, planned by a fixed schedule or by a search for the cheapest."""
