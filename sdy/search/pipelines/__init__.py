"""Search for a pipeline: stages of equal layers, the mesh and shardings of a stage, microbatches, schedule, remat."""
