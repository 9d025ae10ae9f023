"""Whether a partitioned program computes the same: proofs, reduced sizes, and the audit of sharding rules."""
