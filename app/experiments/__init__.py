"""What was measured and published, repeated: benchmarks of the core and the experiments of the papers."""
