"""What one op step does to the factors: basic and aggressive."""
