"""What all dialects share: walks over ops, symbols, locations, traits, tables keyed by op class, fast construction."""
