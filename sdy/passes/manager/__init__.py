"""The passes by name, their options, the pipelines, and the text of a pipeline. The top room of `sdy.passes`."""
