"""The memory that a compiler allocates: what is stored, and which values share memory."""
