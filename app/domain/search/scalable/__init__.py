"""The scalable models of section 17: the aggregate objective, and approximation with a certificate."""
