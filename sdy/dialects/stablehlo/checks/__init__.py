"""What makes a StableHLO op valid beyond its structure, a family of ops per file. Each check raises SdyError."""
