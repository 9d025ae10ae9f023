"""Resolution of sharding conflicts in one op: the axes that it runs on, and the tensors that are resharded."""
