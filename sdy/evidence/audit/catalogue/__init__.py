"""Programs of one op on small shapes, for every op with a sharding rule and with many of its attributes."""
