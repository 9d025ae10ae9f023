"""Make every reshard explicit, and turn each into collectives."""
