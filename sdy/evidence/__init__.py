"""Evidence that a partitioned program computes the same: runs, proofs, reduced sizes, and audits of sharding rules."""
