"""Cost estimates of local programs: bytes, seconds and memory of one device."""
