"""From a module and options to the programs on global and on local shapes: the one place that runs the pipeline."""
