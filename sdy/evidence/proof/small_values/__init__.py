"""The lemma of small values: their elements are followed one by one where no lemma on windows holds."""
