"""Programs on dims that do not divide, made into programs on dims that do. May import `partitioner.local`."""
