"""The scalable models: the aggregate objective, and approximation with a certificate."""
