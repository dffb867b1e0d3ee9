"""The experiments of the papers, repeated."""
