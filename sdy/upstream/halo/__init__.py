"""Halo exchanges as Shardy writes them, for the passes of upstream that lower ops one by one.

The pipelines of `sdy partition` use those of `partitioner.local` instead, which send rows rather than whole shards.
"""
