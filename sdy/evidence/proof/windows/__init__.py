"""Lemmas of convolutions and pooling whose windows read elements of neighboring shards, or none of them."""
