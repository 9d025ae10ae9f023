"""Where the tensors of one op are sharded differently: which axes the op runs on, and which tensors are resharded."""
