"""IR services for all dialects: walks, symbols, locations, traits, op tables and fast op construction."""
